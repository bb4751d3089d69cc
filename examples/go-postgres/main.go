// Adds each payment to the balance of its account, exactly once. README.md says how to run it.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lib/pq"
)

const (
	// The gateway accepts bodies of 1 MiB by default. It sends those that are not JSON as base64, which is a third longer.
	maxBytes = 1_572_864
	// How far the signed time may be from now.
	tolerance = 5 * time.Minute
	// Below the gateway's timeoutMs, 10 s by default: it should get our answer, not give up before.
	timeout = 6 * time.Second
)

//go:embed schema.sql
var schema string

func main() {
	keys, err := readSecrets(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	db, err := sql.Open("postgres", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(16)
	if _, err := db.Exec(schema); err != nil {
		log.Fatal(err)
	}

	mux := http.NewServeMux()
	mux.Handle("POST /webhooks", &handler{db, keys})
	mux.HandleFunc("GET /livez", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := db.PingContext(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{
		Addr:        "127.0.0.1:" + cmp.Or(os.Getenv("PORT"), "8091"),
		Handler:     mux,
		ReadTimeout: timeout,
		IdleTimeout: 2 * time.Minute,
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	go func() {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err)
		}
	}()
	<-ctx.Done()
	// Open calls end first.
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		log.Print(err)
	}
}

// refusal is the reason why an event can never have its effect. The gateway keeps the event as dead.
type refusal string

func (r refusal) Error() string { return string(r) }

type handler struct {
	db   *sql.DB
	keys [][]byte
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes))
	if err != nil {
		answer(w, http.StatusRequestEntityTooLarge, "the body is too large or incomplete")
		return
	}
	if !isAuthentic(h.keys, r.Header, body, time.Now()) {
		answer(w, http.StatusUnauthorized, "the signature is not valid")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	if events := eventsOf(body); events != nil {
		answerBatch(w, h.actOnEach(ctx, events))
		return
	}
	err = h.actOnce(ctx, r.Header.Get("webhook-id"), body)
	var refused refusal
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.As(err, &refused):
		answer(w, http.StatusUnprocessableEntity, refused.Error())
	default:
		log.Print(err)
		answer(w, http.StatusInternalServerError, "try again") // the gateway does
	}
}

// result is the verdict on one event of a batch.
type result struct {
	Done    bool   `json:"done,omitempty"`
	Refused string `json:"refused,omitempty"`
	Retry   string `json:"retry,omitempty"`
	Message string `json:"message,omitempty"`
}

// eventsOf returns the events of a batch, byte for byte. A call with one event has a type, and is none.
func eventsOf(body []byte) []json.RawMessage {
	var call struct {
		Type   string            `json:"type"`
		Events []json.RawMessage `json:"events"`
	}
	if err := json.Unmarshal(body, &call); err != nil || call.Type != "" {
		return nil
	}
	return call.Events
}

// actOnEach acts on each event in its own transaction: one that fails does not concern the others.
func (h *handler) actOnEach(ctx context.Context, events []json.RawMessage) []result {
	results := make([]result, 0, len(events))
	for _, event := range events {
		var named struct {
			Key string `json:"key"`
		}
		err := json.Unmarshal(event, &named)
		if err == nil {
			err = h.actOnce(ctx, named.Key, event)
		}
		var refused refusal
		switch {
		case err == nil:
			results = append(results, result{Done: true})
		case errors.As(err, &refused):
			results = append(results, result{Refused: "refused", Retry: "never", Message: refused.Error()})
		default:
			log.Print(err)
			results = append(results, result{Refused: "failed", Retry: "later"})
		}
	}
	return results
}

// actOnce writes the key of an event and its effect in one transaction.
func (h *handler) actOnce(ctx context.Context, key string, body []byte) error {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	hash := sha256.Sum256(contentOf(body))
	// If another call is writing this key, this waits until that one commits or rolls back.
	inserted, err := tx.ExecContext(ctx,
		`insert into keys (key, body_hash) values ($1, $2) on conflict do nothing`, key, hash[:])
	if err != nil {
		return err
	}
	if rows, err := inserted.RowsAffected(); err != nil {
		return err
	} else if rows == 0 {
		return checkRepeated(ctx, tx, key, hash[:])
	}
	if err := applyEvent(ctx, tx, body); err != nil {
		return err
	}
	return tx.Commit()
}

var content = regexp.MustCompile(`,"(body|raw)":`)

// contentOf returns what is the same whenever an event comes again: what the provider sent, which the gateway writes last.
// What it writes before may change, and has these characters nowhere: JSON escapes the quotation marks within a text.
func contentOf(body []byte) []byte {
	if at := content.FindIndex(body); at != nil {
		return body[at[0]+1:]
	}
	return body
}

// checkRepeated returns nil if the event had its effect before.
func checkRepeated(ctx context.Context, tx *sql.Tx, key string, hash []byte) error {
	var known []byte
	if err := tx.QueryRowContext(ctx, `select body_hash from keys where key = $1`, key).Scan(&known); err != nil {
		return err
	}
	if !bytes.Equal(known, hash) {
		return refusal("the key came before with another body")
	}
	return nil
}

// applyEvent is the effect: what you change. Everything in it happens in the transaction of the key.
func applyEvent(ctx context.Context, tx *sql.Tx, body []byte) error {
	var event struct {
		Type string `json:"type"`
		Body struct {
			Data struct {
				Object struct {
					Amount   int64  `json:"amount_received"`
					Currency string `json:"currency"`
					Metadata struct {
						Account string `json:"account_id"`
					} `json:"metadata"`
				} `json:"object"`
			} `json:"data"`
		} `json:"body"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return refusal("the event is not one of Stripe's payments: " + err.Error())
	}
	if event.Type != "payment.succeeded" {
		return nil
	}
	payment := event.Body.Data.Object
	if payment.Amount <= 0 || payment.Currency == "" || payment.Metadata.Account == "" {
		return refusal("the payment needs an amount, a currency and metadata.account_id")
	}
	_, err := tx.ExecContext(ctx, `
		insert into balances (account, currency, amount) values ($1, $2, $3)
		on conflict (account, currency) do update set amount = balances.amount + excluded.amount`,
		payment.Metadata.Account, payment.Currency, payment.Amount)
	var failed *pq.Error
	if errors.As(err, &failed) && failed.Code.Class() == "22" {
		return refusal("the payment has data that no column can hold: " + failed.Message)
	}
	return err
}

// readSecrets returns the keys of secrets with a space between them. During a change of the secret, there are two.
func readSecrets(secrets string) ([][]byte, error) {
	var keys [][]byte
	for _, secret := range strings.Fields(secrets) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return nil, errors.New("WEBHOOK_SECRET is not base64 after whsec_")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("set WEBHOOK_SECRET")
	}
	return keys, nil
}

// isAuthentic tells whether one of the keys signed these bytes, the id and the time, and the time is not too long ago.
func isAuthentic(keys [][]byte, header http.Header, body []byte, now time.Time) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || id == "" || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		io.WriteString(mac, id+"."+timestamp+".")
		mac.Write(body)
		right := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, signature := range strings.Fields(header.Get("webhook-signature")) {
			if hmac.Equal([]byte(signature), []byte(right)) {
				return true
			}
		}
	}
	return false
}

func answer(w http.ResponseWriter, status int, message string) {
	w.Header().Set("content-type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"message": message})
}

func answerBatch(w http.ResponseWriter, results []result) {
	w.Header().Set("content-type", "application/json")
	json.NewEncoder(w).Encode(map[string][]result{"results": results})
}
