------------------------------ MODULE Oncehook ------------------------------
(* How a delivery becomes one effect, as a model that TLC checks. README.md in *)
(* this folder explains how to read it and what it leaves out.                 *)

EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Gateways,     \* processes that accept and dispatch
    Calls,        \* places for calls that are in progress at fulfilment
    Events,       \* the ids that providers send
    Orders,
    OrderOf,      \* event -> the order that it is about
    PaymentOf,    \* event -> its payment
    MaxFaults,    \* how many things go wrong in one history, each at any step
    MaxAsked,     \* how often, in one history, an event is sent again after its 200, replayed or released, or an order changes
    MaxMarkers,   \* how many markers of further events an order keeps, beside that of the event that paid it
    Admits,       \* whether new records may be claimed on insert: {TRUE}, or {TRUE, FALSE} for either
    Missing       \* protecting steps that are taken out, to show what each is for

OneOrder == [e \in Events |-> "o1"]
TwoOrders == [e \in Events |-> IF e = "e1" THEN "o1" ELSE "o2"]
OnePayment == [e \in Events |-> "p1"]

(* Gateways are alike, and so are calls: TLC checks one of several equal histories. *)
AlikeCalls == Permutations(Calls)
Alike == Permutations(Gateways) \cup AlikeCalls

Has(step) == step \notin Missing

Steps == {"majority", "concern first", "verdict first", "takeover", "claim name",
          "marker", "paying marker", "join", "condition", "order majority", "majority read", "index"}

ASSUME Missing \subseteq Steps

VARIABLES
    inbox,        \* event -> its record, as the primary of the database has it
    inboxM,       \* the same, as a majority has it: this is never rolled back
    orders,       \* order -> its document, as the primary has it
    ordersM,      \* the same, as a majority has it
    lag,          \* the collections whose new writes reach no majority at present
    insert,       \* gateway -> its insert command; one is in progress at a time
    known,        \* gateway -> the events that it remembers as durable
    held,         \* gateway -> event -> the claim in its memory
    late,         \* the events whose claim has ended although a gateway still works on it
    call,         \* place -> the call in it
    acked,        \* the events that were answered with 200
    trespass,     \* whether a process has changed a record that another one held
    faults,
    asked

inboxes == <<inbox, inboxM>>
books == <<orders, ordersM>>
accepting == <<insert, known>>
dispatching == <<held, late, call>>
budget == <<faults, asked>>
vars == <<inboxes, books, lag, accepting, dispatching, acked, trespass, budget>>

-----------------------------------------------------------------------------
(* What the parts look like. *)

Absent == [state |-> "absent", claim |-> "none", starts |-> 0, outcome |-> "none"]
NoClaim == [step |-> "none", claim |-> "none", result |-> "none"]
NoInsert == [phase |-> "none", group |-> {}, new |-> {}, claimed |-> {}]
NoCall == [step |-> "idle", event |-> "none", from |-> "nobody", seen |-> 0, result |-> "none"]
(* `payer` has the marker of the event that paid, `applied` the newest of the others. `effects` and `by` are for the    *)
(* invariants only: how often, and by which events, the order was paid.                                                  *)
NewOrder == [version |-> 0, applied |-> <<>>, payer |-> "none", paid |-> "none", deleted |-> FALSE, effects |-> 0, by |-> {}]

Init ==
    /\ inbox = [e \in Events |-> Absent] /\ inboxM = inbox
    /\ orders = [o \in Orders |-> NewOrder] /\ ordersM = orders
    /\ lag = {}
    /\ insert = [g \in Gateways |-> NoInsert]
    /\ known = [g \in Gateways |-> {}]
    /\ held = [g \in Gateways |-> [e \in Events |-> NoClaim]]
    /\ late = {}
    /\ call = [c \in Calls |-> NoCall]
    /\ acked = {} /\ trespass = FALSE
    /\ faults = 0 /\ asked = 0

(* A write reaches the primary at once, and a majority too unless its collection lags. *)
WriteInbox(new) ==
    /\ inbox' = new
    /\ inboxM' = IF "inbox" \in lag THEN inboxM ELSE new
WriteOrders(new) ==
    /\ orders' = new
    /\ ordersM' = IF "orders" \in lag THEN ordersM ELSE new

Fault == faults < MaxFaults /\ faults' = faults + 1 /\ UNCHANGED asked
Ask == asked < MaxAsked /\ asked' = asked + 1 /\ UNCHANGED faults
NoFault == UNCHANGED budget

-----------------------------------------------------------------------------
(* Accepting: insert/group-commit.ts, inbox/inbox.ts. A lost delivery, a lost  *)
(* answer and a repetition need no action here: a provider may send any event *)
(* to any gateway at any time, whatever was answered before.                   *)

(* The name of a claim is random in the code. Here it is the gateway with the number of the claim. *)
Name(g, starts) == <<g, starts>>

Record(g, claims) ==
    [state |-> IF claims THEN "processing" ELSE "pending",
     claim |-> IF claims THEN Name(g, 1) ELSE "none",
     starts |-> IF claims THEN 1 ELSE 0,
     outcome |-> "none"]

(* Deliveries that arrive together share one insert. The unique index skips what is there. *)
InsertGroup(g) ==
    /\ insert[g].phase = "none"
    /\ \E group \in SUBSET (Events \ known[g]), claims \in Admits :
         LET new == {e \in group : inbox[e].state = "absent"} IN
         /\ group # {}
         /\ IF group \cap acked = {} THEN NoFault ELSE Ask
         /\ WriteInbox([e \in Events |-> IF e \in new THEN Record(g, claims) ELSE inbox[e]])
         /\ insert' = [insert EXCEPT ![g] =
              [phase |-> IF "inbox" \in lag /\ Has("majority") THEN "waits" ELSE "durable",
               group |-> group, new |-> new, claimed |-> IF claims THEN new ELSE {}]]
         /\ known' = IF Has("verdict first") THEN known ELSE [known EXCEPT ![g] = @ \cup group]
    /\ UNCHANGED <<books, lag, dispatching, acked, trespass>>

(* 200: a majority has the record, now or from before. New records that were claimed on insert are taken. *)
AnswerStored(g) ==
    LET i == insert[g] IN
    /\ i.phase = "durable"
    /\ acked' = acked \cup i.group
    /\ known' = [known EXCEPT ![g] = @ \cup i.group]
    /\ held' = [held EXCEPT ![g] = [e \in Events |->
         IF e \in i.claimed /\ held[g][e].step = "none"
         THEN [step |-> "ready", claim |-> Name(g, 1), result |-> "none"] ELSE held[g][e]]]
    /\ insert' = [insert EXCEPT ![g] = NoInsert]
    /\ NoFault /\ UNCHANGED <<inboxes, books, lag, late, call, trespass>>

(* 500 for the whole group: nobody knows whether a majority has it. A duplicate proves nothing then. *)
AnswerNotStored(g) ==
    LET i == insert[g] IN
    /\ i.phase = "failed"
    /\ acked' = IF Has("concern first") THEN acked ELSE acked \cup (i.group \ i.new)
    /\ insert' = [insert EXCEPT ![g] = NoInsert]
    /\ NoFault /\ UNCHANGED <<inboxes, books, lag, known, dispatching, trespass>>

(* 200 without a question to the database: this process has seen that a majority has the record. *)
AnswerFromMemory(g, e) ==
    /\ e \in known[g] /\ e \notin acked
    /\ acked' = acked \cup {e}
    /\ NoFault /\ UNCHANGED <<inboxes, books, lag, accepting, dispatching, trespass>>

-----------------------------------------------------------------------------
(* Claims. A record in progress has the end of its claim. Whoever finds one  *)
(* that has ended claims it again, and nobody asks who held it. The writes    *)
(* of claims and settlements wait for a majority in the code. Here they do    *)
(* not: the invariants hold even so.                                          *)

Claim(g, e) ==
    /\ held[g][e].step = "none"
    /\ WriteInbox([inbox EXCEPT ![e] =
         [state |-> "processing", claim |-> Name(g, @.starts + 1), starts |-> @.starts + 1, outcome |-> "none"]])
    /\ held' = [held EXCEPT ![g][e] = [step |-> "ready", claim |-> Name(g, inbox[e].starts + 1), result |-> "none"]]
    /\ late' = late \ {e}
    /\ UNCHANGED <<books, lag, accepting, call, acked, trespass>>

ClaimDue(g, e) == inbox[e].state = "pending" /\ Claim(g, e) /\ NoFault

Holds(g, e) == held[g][e].step # "none" /\ held[g][e].claim = inbox[e].claim

(* Time passes until a claim has ended, unless a gateway still works on it: its process has died, or does not know of    *)
(* the claim, because the answer to its insert or to its claim was lost. That answer may still come. A gateway ends its  *)
(* work before its claim ends, but for faults.                                                                           *)
ClaimHasEnded(e) == e \in late \/ ~\E g \in Gateways : Holds(g, e)

TakeOver(g, e) ==
    /\ Has("takeover") /\ inbox[e].state = "processing" /\ ClaimHasEnded(e)
    /\ Claim(g, e) /\ NoFault

-----------------------------------------------------------------------------
(* Dispatching and settling: queue/dispatch, transitions.ts. *)

Send(g, e) ==
    /\ held[g][e].step = "ready"
    /\ \E c \in Calls :
         /\ call[c].step = "idle"
         /\ call' = [call EXCEPT ![c] = [NoCall EXCEPT !.step = "sent", !.event = e, !.from = g]]
    /\ held' = [held EXCEPT ![g][e].step = "calling"]
    /\ NoFault /\ UNCHANGED <<inboxes, books, lag, accepting, late, acked, trespass>>

(* A call that failed for all its events: the holder sends them again without a write in between, in smaller groups. *)
SendAgain(g, e) ==
    /\ held[g][e].step = "settle" /\ held[g][e].result = "later"
    /\ held' = [held EXCEPT ![g][e] = [@ EXCEPT !.step = "ready", !.result = "none"]]
    /\ NoFault /\ UNCHANGED <<inboxes, books, lag, accepting, late, call, acked, trespass>>

Settled(result) ==
    CASE result = "later" -> [state |-> "pending", outcome |-> "none"]
      [] result = "never" -> [state |-> "dead", outcome |-> "none"]
      [] OTHER -> [state |-> "done", outcome |-> result]

(* The write names the claim. It does nothing if the record has been claimed again since, by whomever. If it is rolled   *)
(* back, the record is taken over like that of a dead process.                                                           *)
Settle(g, e) ==
    LET claim == held[g][e]
        record == inbox[e]
        isHolder == record.claim = claim.claim
        matches == record.state = "processing" /\ (isHolder \/ ~Has("claim name"))
        end == Settled(claim.result) IN
    /\ claim.step = "settle"
    /\ held' = [held EXCEPT ![g][e] = NoClaim]
    /\ IF matches
       THEN WriteInbox([inbox EXCEPT ![e] =
              [state |-> end.state, claim |-> "none", starts |-> @.starts, outcome |-> end.outcome]])
            /\ late' = late \ {e}
       ELSE UNCHANGED <<inboxes, late>>
    /\ trespass' = (trespass \/ (matches /\ ~isHolder))
    /\ NoFault /\ UNCHANGED <<books, lag, accepting, call, acked>>

-----------------------------------------------------------------------------
(* Applying: fulfilment, payments. A call carries one event. *)

Order(c) == OrderOf[call[c].event]

HasMarker(order, e) == order.payer = e \/ \E i \in DOMAIN order.applied : order.applied[i] = e

(* The order with one more marker. The oldest one goes if there are too many. *)
Marked(order, e) ==
    LET all == Append(order.applied, e) IN
    [order EXCEPT !.applied = IF Len(all) > MaxMarkers THEN Tail(all) ELSE all]

(* Decides by what a majority has: an answer must not rest on what can be rolled back. *)
Read(c) ==
    LET e == call[c].event
        order == IF Has("majority read") THEN ordersM[Order(c)] ELSE orders[Order(c)] IN
    /\ call[c].step = "sent"
    /\ call' = [call EXCEPT ![c] =
         IF Has("marker") /\ HasMarker(order, e)
         THEN [@ EXCEPT !.step = "answer", !.result = "duplicate"]
         ELSE IF order.deleted
         THEN [@ EXCEPT !.step = "answer", !.result = "never"]
         ELSE IF Has("join") /\ order.paid # "none"
         THEN [@ EXCEPT !.step = "write", !.result = "already_paid", !.seen = order.version]
         ELSE [@ EXCEPT !.step = "write", !.result = "applied", !.seen = order.version]]
    /\ NoFault /\ UNCHANGED <<inboxes, books, lag, accepting, held, late, acked, trespass>>

PaidBy(e, order) ==
    LET marked == IF Has("paying marker") THEN [order EXCEPT !.payer = e] ELSE Marked(order, e) IN
    [marked EXCEPT !.version = @ + 1, !.paid = PaymentOf[e], !.effects = @ + 1, !.by = @ \cup {e}]

(* The one conditional update. It matches the version that was read, without a marker of this event. *)
Write(c) ==
    LET e == call[c].event
        order == orders[Order(c)]
        result == call[c].result
        matches == /\ Has("condition") => order.version = call[c].seen
                   /\ Has("marker") => ~HasMarker(order, e)
        others == Orders \ {Order(c)}
        isUsed == /\ result = "applied" /\ Has("index")
                  /\ \E o \in others : orders[o].paid = PaymentOf[e]
        isUsedM == \E o \in others : ordersM[o].paid = PaymentOf[e] IN
    /\ call[c].step = "write"
    /\ IF ~matches
       THEN call' = [call EXCEPT ![c].step = "sent"] /\ UNCHANGED <<orders, ordersM>>
       ELSE IF isUsed
       THEN /\ call' = [call EXCEPT ![c].step = "answer", ![c].result = IF isUsedM THEN "never" ELSE "later"]
            /\ UNCHANGED <<orders, ordersM>>
       ELSE /\ call' = [call EXCEPT ![c].step =
                 IF "orders" \in lag /\ Has("order majority") THEN "writing" ELSE "answer"]
            /\ WriteOrders([orders EXCEPT ![Order(c)] =
                 IF result = "applied" THEN PaidBy(e, order) ELSE Marked(order, e)])
    /\ NoFault /\ UNCHANGED <<inboxes, lag, accepting, held, late, acked, trespass>>

(* The calls of `ended` end. Each gateway that still waits for one gets its result. *)
EndCalls(ended, result(_)) ==
    /\ call' = [c \in Calls |-> IF c \in ended THEN NoCall ELSE call[c]]
    /\ held' = [g \in Gateways |-> [e \in Events |->
         LET calls == {c \in ended : call[c].from = g /\ call[c].event = e} IN
         IF calls = {} THEN held[g][e]
         ELSE [held[g][e] EXCEPT !.step = "settle", !.result = result(CHOOSE c \in calls : TRUE)]]]

Reply(c) ==
    /\ call[c].step = "answer"
    /\ EndCalls({c}, LAMBDA one : call[one].result)
    /\ NoFault /\ UNCHANGED <<inboxes, books, lag, accepting, late, acked, trespass>>

-----------------------------------------------------------------------------
(* The operator, and a redelivery that revives a dead event: queue/transitions.ts. *)

Replay(e) ==
    /\ Ask /\ inbox[e].state \in {"done", "dead"}
    /\ WriteInbox([inbox EXCEPT ![e].state = "pending", ![e].outcome = "none"])
    /\ UNCHANGED <<books, lag, accepting, dispatching, acked, trespass>>

Release(e) ==
    /\ Ask /\ inbox[e].state = "processing"
    /\ WriteInbox([inbox EXCEPT ![e].state = "pending", ![e].claim = "none"])
    /\ late' = late \ {e}
    /\ UNCHANGED <<books, lag, accepting, held, call, acked, trespass>>

(* A customer changes or deletes an order, or creates it again under its id. Its payments stay recorded forever. *)
ChangeOrder(o) ==
    /\ Ask
    /\ \E deleted \in BOOLEAN :
         /\ orders[o].paid # "none" /\ orders[o].deleted => deleted
         /\ WriteOrders([orders EXCEPT ![o].version = @ + 1, ![o].deleted = deleted])
    /\ UNCHANGED <<inboxes, lag, accepting, dispatching, acked, trespass>>

-----------------------------------------------------------------------------
(* What goes wrong. Each costs one of MaxFaults. *)

(* A gateway dies and starts again, with an empty memory. Its calls continue without it. *)
Crash(g) ==
    /\ Fault
    /\ insert' = [insert EXCEPT ![g] = NoInsert]
    /\ known' = [known EXCEPT ![g] = {}]
    /\ held' = [held EXCEPT ![g] = [e \in Events |-> NoClaim]]
    /\ call' = [c \in Calls |-> IF call[c].from = g THEN [call[c] EXCEPT !.from = "nobody"] ELSE call[c]]
    /\ UNCHANGED <<inboxes, books, lag, late, acked, trespass>>

(* Fulfilment dies with all its calls, at whatever step each is. *)
FulfilmentCrash ==
    /\ Fault /\ \E c \in Calls : call[c].step # "idle"
    /\ EndCalls({c \in Calls : call[c].step # "idle"}, LAMBDA one : "later")
    /\ UNCHANGED <<inboxes, books, lag, accepting, late, acked, trespass>>

(* The network breaks during an insert: any part of it is stored, and its deliveries are answered with 500. *)
CutInsert(g) ==
    /\ Fault
    /\ \E new \in SUBSET {e \in Events : inbox[e].state = "absent"}, claims \in Admits :
         /\ new # {}
         /\ WriteInbox([e \in Events |-> IF e \in new THEN Record(g, claims) ELSE inbox[e]])
    /\ UNCHANGED <<books, lag, accepting, dispatching, acked, trespass>>

(* No majority confirms an insert in time. Its records stay, for now. *)
InsertTimesOut(g) ==
    /\ Fault /\ insert[g].phase = "waits"
    /\ insert' = [insert EXCEPT ![g].phase = "failed"]
    /\ UNCHANGED <<inboxes, books, lag, known, dispatching, acked, trespass>>

LoseCall(c) ==
    /\ Fault /\ call[c].step = "sent"
    /\ EndCalls({c}, LAMBDA one : "later")
    /\ UNCHANGED <<inboxes, books, lag, accepting, late, acked, trespass>>

RepeatCall(c) ==
    /\ Fault /\ call[c].step = "sent"
    /\ \E d \in Calls : call[d].step = "idle" /\ call' = [call EXCEPT ![d] = [call[c] EXCEPT !.from = "nobody"]]
    /\ UNCHANGED <<inboxes, books, lag, accepting, held, late, acked, trespass>>

(* The gateway stops waiting for a call, or its answer is lost. The call continues. *)
CallTimesOut(c) ==
    LET from == call[c].from IN
    /\ Fault /\ from # "nobody"
    /\ call' = [call EXCEPT ![c].from = "nobody"]
    /\ held' = [held EXCEPT ![from][call[c].event] = [@ EXCEPT !.step = "settle", !.result = "later"]]
    /\ UNCHANGED <<inboxes, books, lag, accepting, late, acked, trespass>>

(* A gateway stops, or fulfilment is unavailable: the gateway releases its events without an attempt. *)
GiveBack(g, e) ==
    /\ Fault /\ held[g][e].step = "ready"
    /\ held' = [held EXCEPT ![g][e] = [@ EXCEPT !.step = "settle", !.result = "later"]]
    /\ UNCHANGED <<inboxes, books, lag, accepting, late, call, acked, trespass>>

(* The answer to a claim is lost, or a result never reaches the database: the gateway does not hold the record any more. *)
LoseClaim(g, e) ==
    /\ Fault /\ held[g][e].step \in {"ready", "settle"}
    /\ held' = [held EXCEPT ![g][e] = NoClaim]
    /\ UNCHANGED <<inboxes, books, lag, accepting, late, call, acked, trespass>>

(* A clock jumps, a process sleeps, or a call lasts too long: a claim ends while a gateway still works on it. *)
EndClaim(e) ==
    /\ Fault /\ inbox[e].state = "processing" /\ e \notin late
    /\ late' = late \cup {e}
    /\ UNCHANGED <<inboxes, books, lag, accepting, held, call, acked, trespass>>

Collections == {"inbox", "orders"}

(* From now on, writes reach the primary only. *)
Lag(x) ==
    /\ Fault /\ x \notin lag
    /\ lag' = lag \cup {x}
    /\ UNCHANGED <<inboxes, books, accepting, dispatching, acked, trespass>>

(* The end of a lag: either a majority gets the writes after all, or a new primary rolls them back. The write concerns   *)
(* of the commands that wait for a majority are then met, or not.                                                        *)
Replicate(x) ==
    /\ x \in lag /\ lag' = lag \ {x}
    /\ inboxM' = IF x = "inbox" THEN inbox ELSE inboxM
    /\ ordersM' = IF x = "orders" THEN orders ELSE ordersM
    /\ insert' = [g \in Gateways |->
         IF x = "inbox" /\ insert[g].phase = "waits" THEN [insert[g] EXCEPT !.phase = "durable"] ELSE insert[g]]
    /\ call' = [c \in Calls |->
         IF x = "orders" /\ call[c].step = "writing" THEN [call[c] EXCEPT !.step = "answer"] ELSE call[c]]
    /\ NoFault /\ UNCHANGED <<inbox, orders, known, held, late, acked, trespass>>

RollBack(x) ==
    /\ x \in lag /\ lag' = lag \ {x}
    /\ inbox' = IF x = "inbox" THEN inboxM ELSE inbox
    /\ orders' = IF x = "orders" THEN ordersM ELSE orders
    /\ insert' = [g \in Gateways |->
         IF x = "inbox" /\ insert[g].phase = "waits" THEN [insert[g] EXCEPT !.phase = "failed"] ELSE insert[g]]
    /\ call' = [c \in Calls |->
         IF x = "orders" /\ call[c].step = "writing"
         THEN [call[c] EXCEPT !.step = "answer", !.result = "later"] ELSE call[c]]
    /\ NoFault /\ UNCHANGED <<inboxM, ordersM, known, held, late, acked, trespass>>

-----------------------------------------------------------------------------

Next ==
    \/ \E g \in Gateways :
         \/ InsertGroup(g) \/ AnswerStored(g) \/ AnswerNotStored(g)
         \/ Crash(g) \/ CutInsert(g) \/ InsertTimesOut(g)
    \/ \E g \in Gateways, e \in Events :
         \/ AnswerFromMemory(g, e) \/ ClaimDue(g, e) \/ TakeOver(g, e) \/ Send(g, e) \/ Settle(g, e)
         \/ SendAgain(g, e) \/ GiveBack(g, e) \/ LoseClaim(g, e)
    \/ \E c \in Calls :
         \/ Read(c) \/ Write(c) \/ Reply(c)
         \/ LoseCall(c) \/ RepeatCall(c) \/ CallTimesOut(c)
    \/ \E e \in Events : Replay(e) \/ Release(e) \/ EndClaim(e)
    \/ \E o \in Orders : ChangeOrder(o)
    \/ \E x \in Collections : Lag(x) \/ Replicate(x) \/ RollBack(x)
    \/ FulfilmentCrash

(* Each step that is no fault happens in the end, if it stays possible. *)
Fairness ==
    /\ \A g \in Gateways : WF_vars(AnswerStored(g)) /\ WF_vars(AnswerNotStored(g))
    /\ \A g \in Gateways, e \in Events : WF_vars(Send(g, e)) /\ WF_vars(Settle(g, e))
    /\ \A e \in Events :
         /\ WF_vars(\E g \in Gateways : ClaimDue(g, e))
         /\ WF_vars(\E g \in Gateways : TakeOver(g, e))
    /\ \A c \in Calls : WF_vars(Read(c) \/ Write(c)) /\ WF_vars(Reply(c))
    /\ \A x \in Collections : WF_vars(Replicate(x) \/ RollBack(x))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* What must always be true. *)

(* A majority has every event that was answered with 200. *)
NoAcknowledgedEventLost == \A e \in acked : inboxM[e].state # "absent"

(* An order is paid once, whatever is sent, repeated and replayed. *)
NoEffectTwice == \A o \in Orders : orders[o].effects <= 1

OnePaymentPaysOneOrder ==
    \A o, q \in Orders : o # q /\ orders[o].paid # "none" => orders[o].paid # orders[q].paid

(* A process that has lost its claim changes nothing. *)
FencedWriterChangesNothing == ~trespass

(* An event is `done` only if a majority has its order as paid. *)
DoneIsPaid == \A e \in Events : inbox[e].state = "done" => ordersM[OrderOf[e]].paid # "none"

(* An event that has paid its order is never recorded as one that came too late. *)
OutcomeIsTrue == \A e \in Events : inbox[e].outcome = "already_paid" => e \notin orders[OrderOf[e]].by

(* Only to bound a search: while a payment of another order has no majority, an event may be claimed any number of times. *)
FewClaims == \A e \in Events : inbox[e].starts <= 4

(* Once nothing more goes wrong, every event that was answered with 200 is settled, permanently. *)
EveryAcceptedEventEnds == \A e \in Events : <>[](e \in acked => inboxM[e].state \in {"done", "dead"})

=============================================================================
