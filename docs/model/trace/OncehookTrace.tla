---------------------------- MODULE OncehookTrace ----------------------------
(* Compares a recording of real processes with the model. The module Recorded  *)
(* is made from a recording: for each payment, what its processes did in what   *)
(* order. TLC looks for a history of the model that explains all of it.         *)
(*                                                                              *)
(* A step of a process takes effect at some point between its beginning and its *)
(* end. A step without an end (its process died, or the database did not        *)
(* answer) takes effect at any later point, or never.                           *)

EXTENDS Oncehook, Recorded, Integers

VARIABLES
    payment, \* which payment's steps are compared
    at,      \* the next line of them
    open     \* the steps that have begun and not yet taken effect

traced == <<payment, at, open>>

(* Two events are about the first order of the payment, and one about the second. *)
RecordedOrder == [e \in Events |-> IF e = "e3" THEN "o2" ELSE "o1"]

RecordedSteps == Recorded[payment].steps
(* 3: the third step begins. -3: it ends. *)
Lines == Recorded[payment].lines
HasLine == at <= Len(Lines)
Line == Lines[at]
Step == RecordedSteps[IF Line > 0 THEN Line ELSE -Line]
Begins(kind) == HasLine /\ Line > 0 /\ Step.kind = kind
Ends(kind) == HasLine /\ Line < 0 /\ Step.kind = kind

TraceInit == Init /\ payment \in DOMAIN Recorded /\ at = 1 /\ open = {}

-----------------------------------------------------------------------------
(* The effect of a step that has begun. *)

(* A gateway may send an id again that it has learned since: two deliveries came at the same time. *)
Insert(s) ==
    LET group == s.group \ known[s.g] IN
    /\ s.concern = "majority"
    /\ IF group = {}
       THEN s.new = {} /\ UNCHANGED vars
       ELSE /\ InsertGroup(s.g)
            /\ insert'[s.g].group = group /\ insert'[s.g].new = s.new /\ insert'[s.g].claimed = s.claimed

(* The gateway does not know whether its insert succeeded. *)
Cut(s) ==
    /\ s.concern = "majority"
    /\ CutInsert(s.g)
    /\ \A e \in Events : inbox'[e].state # inbox[e].state =>
         e \in s.group /\ inbox'[e].starts = (IF e \in s.claimed THEN 1 ELSE 0)

(* The recording has the number of a claim instead of its name. *)
NumberOf(claim) == IF claim.step = "none" THEN 0 ELSE claim.claim[2]
IsHeld(s) == NumberOf(held[s.g][s.e]) = s.starts

(* The step of a claim that was lost, by a gateway that has claimed the event again since. It changes nothing. *)
IsStale(s) == ~IsHeld(s) /\ s.starts < inbox[s.e].starts

(* Nobody records that a claim has ended while its gateway still works on it. A suspect whose call broke waits without a *)
(* claim. To the model it is pending, for that makes no difference but to the pace.                                      *)
TakeSuspect(g, e) == inbox[e].state \in {"pending", "processing"} /\ Claim(g, e) /\ NoFault

(* The calls of the model that a step of fulfilment may belong to. *)
CallsOf(s) == {c \in Calls : call[c].step # "idle" /\ call[c].event = s.e}

TakeCall(s, c) ==
    /\ s.concern = "majority"
    /\ CASE s.kind = "read" ->
              /\ Read(c)
              /\ s.isSeen => LET found == ordersM[Order(c)] IN
                                found.version = s.version /\ s.isApplied = HasMarker(found, s.e)
         [] s.kind = "write" ->
              /\ call[c].seen = s.version /\ call[c].result = s.result /\ Write(c)
              /\ s.isSeen => (s.verdict = "changed") = (orders' # orders)

Take(s) ==
    CASE s.kind = "insert" -> IF s.isMet THEN Insert(s) ELSE Cut(s)
      [] s.kind = "claim" -> ClaimDue(s.g, s.e) /\ s.starts \in {0, inbox'[s.e].starts}
      [] s.kind = "takeover" -> TakeSuspect(s.g, s.e) /\ s.starts \in {0, inbox'[s.e].starts}
      [] s.kind = "settle" ->
           \/ /\ IsHeld(s) /\ held[s.g][s.e].result = s.result
              /\ Settle(s.g, s.e)
              /\ s.verdict = "lost" => inbox'[s.e].state = inbox[s.e].state
              /\ s.verdict = "kept" => inbox'[s.e].state # inbox[s.e].state
           \/ IsStale(s) /\ s.verdict # "kept" /\ UNCHANGED vars
      [] s.kind = "release" ->
           \/ /\ IsHeld(s) /\ held[s.g][s.e].result = "later"
              /\ Settle(s.g, s.e)
           \/ IsStale(s) /\ UNCHANGED vars
      [] s.kind = "crash" -> Crash(s.g)
      [] s.kind = "replay" -> Replay(s.e)
      [] OTHER -> \E c \in CallsOf(s) : TakeCall(s, c)

TakeEffect == \E i \in open : Take(RecordedSteps[i]) /\ open' = open \ {i} /\ UNCHANGED <<payment, at>>

-----------------------------------------------------------------------------
(* Lines that are more than a beginning or an end. *)

(* Whether all earlier writes of a call of fulfilment have ended. *)
WritesHaveEnded(s) ==
    \A i \in DOMAIN RecordedSteps :
        LET hasLine(line) == \E earlier \in 1..(at - 1) : Lines[earlier] = line IN
        RecordedSteps[i].kind = "write" =>
            (RecordedSteps[i].call = s.call /\ hasLine(i) => hasLine(-i))

(* 200. The gateway must have seen by then that a majority has the record. *)
Answer(s) ==
    /\ s.e \in known[s.g]
    /\ IF s.e \in acked THEN UNCHANGED vars ELSE AnswerFromMemory(s.g, s.e)

Call(s) ==
    \/ IsHeld(s) /\ Send(s.g, s.e)
    \/ /\ IsStale(s)
       /\ \E c \in Calls :
            /\ call[c].step = "idle"
            /\ call' = [call EXCEPT ![c] = [NoCall EXCEPT !.step = "sent", !.event = s.e]]
       /\ UNCHANGED <<inboxes, books, lag, accepting, held, late, acked, trespass, budget>>

Result(s) ==
    /\ \/ /\ held[s.g][s.e].step = "settle"
          /\ IsHeld(s) /\ held[s.g][s.e].result = s.result
       \/ IsStale(s)
    /\ UNCHANGED vars

(* Fulfilment answers a call. It has waited for the ends of the writes before. An event that is refused for now is sent again. *)
Answered(s) ==
    /\ s.result \in {"again", "later"} \/ WritesHaveEnded(s)
    /\ \E c \in CallsOf(s) :
         IF s.result \in {"again", "later"}
         THEN /\ call' = [call EXCEPT ![c] = [NoCall EXCEPT !.step = "sent", !.event = s.e, !.from = call[c].from]]
              /\ UNCHANGED <<inboxes, books, lag, accepting, held, late, acked, trespass, budget>>
         ELSE call[c].step = "answer" /\ call[c].result = s.result /\ UNCHANGED vars

(* What the database has at the end of the recording. *)
Stored(s) ==
    /\ inbox[s.e].state = s.state /\ inbox[s.e].starts = s.starts
    /\ UNCHANGED vars

Begin ==
    /\ HasLine /\ Line > 0
    /\ IF Step.kind \in {"answer", "call", "reply", "stored"}
       THEN /\ \/ Begins("answer") /\ Answer(Step)
               \/ Begins("call") /\ Call(Step)
               \/ Begins("reply") /\ Answered(Step)
               \/ Begins("stored") /\ Stored(Step)
            /\ UNCHANGED open
       ELSE open' = open \cup {Line} /\ UNCHANGED vars

End ==
    /\ HasLine /\ Line < 0 /\ -Line \notin open
    /\ IF Step.kind = "call" THEN Result(Step)
       ELSE IF Step.kind = "insert" /\ insert[Step.g].phase = "durable" THEN AnswerStored(Step.g)
       ELSE UNCHANGED vars
    /\ UNCHANGED open

-----------------------------------------------------------------------------
(* What nobody records: what the network does, and what goes wrong. *)

(* A gateway ends its work on a claim without a result. *)
EndEarly(s) ==
    \/ GiveBack(s.g, s.e)
    \/ \E c \in Calls : call[c].from = s.g /\ call[c].event = s.e /\ CallTimesOut(c)

(* Makes room: nobody waits for this call any more. *)
Forget(c) ==
    /\ call[c].from = "nobody" /\ \A d \in Calls : call[d].step # "idle"
    /\ call' = [call EXCEPT ![c] = NoCall]
    /\ UNCHANGED <<inboxes, books, lag, accepting, held, late, acked, trespass, budget>>

Unrecorded ==
    \/ /\ Ends("call")
       /\ \E c \in Calls :
            /\ call[c].from = Step.g /\ call[c].event = Step.e
            /\ Reply(c) \/ (Step.result = "later" /\ (LoseCall(c) \/ CallTimesOut(c)))
    \/ Begins("call") /\ (SendAgain(Step.g, Step.e) \/ \E c \in Calls : Forget(c))
    \/ \E i \in open :
         LET s == RecordedSteps[i]
             isReplaced == s.kind \in {"claim", "takeover"} /\ NumberOf(held[s.g][s.e]) # inbox[s.e].starts IN
         \/ s.kind = "release" /\ EndEarly(s)
         \/ isReplaced /\ (EndEarly(s) \/ Settle(s.g, s.e))
         \/ s.kind = "takeover" /\ EndEarly(s)
         \/ s.kind \in {"claim", "takeover"} /\ LoseClaim(s.g, s.e)

TraceNext ==
    \/ (Begin \/ End) /\ at' = at + 1 /\ UNCHANGED payment
    \/ TakeEffect
    \/ Unrecorded /\ UNCHANGED traced

TraceSpec == TraceInit /\ [][TraceNext]_<<vars, traced>>

(* How often something went wrong makes no difference here. *)
TraceView == <<inboxes, books, lag, accepting, dispatching, acked, trespass, traced>>

(* Reports the last explained line of each payment. The register of a payment has this line. *)
ASSUME \A one \in DOMAIN Recorded : TLCSet(one, 0)
Progress == IF at > TLCGet(payment) THEN TLCSet(payment, at) /\ PrintT(<<"reached", payment, at>>) ELSE TRUE

=============================================================================
