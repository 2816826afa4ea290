"""The simulation's memory, column by column: plain arrays of floats, so that compiled code and NumPy share them.

A request is a row of ``asked``; a replica (one data-parallel rank) a row of ``state`` and of ``totals``; a
sequence that decodes on it a row of ``seats``; a deployment's limits and habits are one row of ``rules``.
Counts and indices are floats too: whole numbers are exact up to 2**53.
"""

from __future__ import annotations

# asked: what a request is, and what became of it
(
    SENT,  # when it reaches the engine, s
    INPUT,  # prompt tokens, prefix included
    OUTPUT,  # answer tokens, at least 1
    GROUP,  # whose leading tokens it shares (a system prompt, a conversation); -1 = nobody's, or FOUND
    PREFIX,  # how many leading tokens it shares
    KEPT,  # whether its own tokens stay cached for the group's next request (a conversation)
    ADAPTER,  # LoRA adapter; -1 = none
    PACE,  # answer tokens per decoding step: 1, more when speculation is accepted
    LUCK,  # uniform in [0, 1): decides for random routing
    FILLED,  # prompt tokens whose cache another worker hands over
    HIT,  # prompt tokens found in the cache, shared with the group
    DONE,  # answer tokens given before its present seat
    SCHEDULED,  # first taken up, s
    FIRST,  # first token, s
    LAST,  # last token, s; -1 until then
    NEXT,  # the one behind it in a replica's waiting line; -1 = nobody
    PLACE,  # replica
    SPARED,  # tokens stored on its replica until the last of what it left there when it gave way is overwritten
) = range(18)
ASKED_COUNT = 18
FOUND = -2.0  # group of requests whose leading tokens are found cached, whoever left them there

# seats: sequences past their prompt, oldest first
REQUEST, ENDS_AT, ENTERED_AT, BASE = range(4)
SEAT_COUNT = 4

# state: one replica
(
    NOW,  # clock at the last boundary between steps, s
    UNTIL,  # end of the span of steps in progress, s; infinite = idle
    ALIVE,  # sequences past their prompt
    STEP,  # decoding steps so far
    CONTEXT,  # tokens the decoding sequences attend to, all together
    HELD,  # cache in use, what groups share left out
    LEFT,  # answer tokens the decoding sequences still owe
    PACES,  # tokens all sequences gain per decoding step
    PART,  # request whose prompt is being read; -1 = none
    PART_DONE,
    PART_GOAL,
    HEAD,  # first and last of the waiting line; -1 = none
    TAIL,
    WAITING,  # its length
    STALLED,  # time prompts took since decoding last moved, s
    SPAN,  # steps in progress, alike but for growing contexts
    ONE_S,  # the first of them, s
    GROWTH_S,  # how much longer each is than the one before, s
    PREFILL,  # prompt tokens in the step in progress
    FINISHED,  # prompts that end with it
    DECODING,  # sequences that gain tokens in it
    RATIO,  # share of the answers owed that is set aside
    BLOCKED,  # whether the line waits for room
    ADAPTED,  # adapters in use
    RESIDENT,  # cache of groups, in use or not
    PINNED,  # of it, in use
    OLDEST,  # groups by last use: ends of the list
    NEWEST,
    POOL,  # which row of ``rules``
    HAND_FREE,  # when its link is free to hand over the next prompt, s
    HELD_ADAPTERS,  # adapters on the device, in use or not
    POLLED,  # decoding step at which the line was last looked at
    STORED,  # tokens stored so far
    HELD_FROM,  # decoding step since which the line is held back; -1 = it is not
) = range(34)
STATE_COUNT = 34

# totals: one replica, added up
(
    STEPS, BUSY_S, SEQUENCE_S, KV_TOKEN_S, PREEMPTIONS, PREFILLED, GENERATED, REJECTED, END_S, HIT_TOKENS,
    WAITING_S, MOST_WAITING, EVICTED, LOADED,
) = range(14)  # fmt: skip
TOTALS_COUNT = 14

# rules: limits of a deployment and habits of its engine
(
    BUDGET,  # most tokens of one step
    SLOTS,  # most sequences at once
    KV,  # tokens the cache holds
    WASTE,  # cache lost per sequence to whole blocks
    WINDOW,  # sliding window, tokens
    MIXED,  # prompts and decoding share a step; else prompts go first, alone
    CHUNKED,  # prompts are cut to the budget
    STATIC,  # a batch ends before the next begins
    WHOLE,  # a prompt is admitted only when all of it finds room
    RESERVE_NEW,  # share of its answer a new request must find room for
    RESERVE,  # share of the answers owed set aside for those running: at first,
    DECAY,  # less this much per decoding step,
    RESERVE_LEAST,  # down to this
    SLOT_TOKENS,  # context of a fixed slot; infinite = one pool for all
    MICRO,  # tokens a step works on at once (llama.cpp's n_ubatch)
    VERIFY,  # tokens each sequence brings to a decoding step: 1 + those drafted
    DRAFTED,  # tokens drafted by a model, one after the other
    HOST_S,  # seconds per sequence and step that drafting without a model costs
    ADAPTERS,  # adapters at once; 0 = no limit
    ADAPTER_S,  # what any adapter adds to a step,
    ADAPTER_READ_S,  # and what each one in use adds to it
    LOAD_S,  # bringing an adapter to the device
    ROLE,  # BOTH, READS (prompts only) or WRITES (answers only)
    HAND_S,  # handing a prompt's cache over: fixed part,
    HAND_S_PER_TOKEN,  # and by token
    WAITING_WEIGHT,  # routing: how much one waiting counts against one running
    RANKS,  # ranks that take each step together
    SHARED,  # share of a step's work by tokens that ranks in step do for each other (experts)
    POLL,  # decoding steps between two looks at the line
    KEEPS,  # whether what gives way stays readable until it is overwritten
    BLOCK,  # tokens of a block
    PADDED,  # up to so many tokens, ranks in step are padded to the widest
    POLL_RANKS,  # whether the line is looked at as soon as every rank has somebody in it
    HOLD,  # decoding steps the line is held back for more to come
    HOLD_RATIO,  # unless it fills this share of the budget
) = range(35)
RULES_COUNT = 35
BOTH, READS, WRITES = range(3)

# loop: what the event loop carries from one stretch to the next
(
    ARRIVED,  # requests of an open stream already sent on their way
    SENT_COUNT,  # requests a closed loop has sent
    PENDING,  # entries of the heap
    CLIENTS,  # 0 = open arrivals
    THINK_S,  # time from a last token to the same client's next request
    TURN,  # round robin
    ROUTING,  # a place in ``ROUTES``
    MORE,  # whether requests will follow those in ``asked``
    CLOCK,
) = range(9)
LOOP_COUNT = 9

# shelf: prefixes by replica and group
CACHED, USERS, OLDER, NEWER = range(4)
SHELF_COUNT = 4

# using: adapters by replica
RUNNING, LOADED_NOW = range(2)

# gaps between tokens, counted in a logarithmic histogram
ITL_BINS = 400
ITL_LOW_S = 1e-4
ITL_BINS_PER_E_FOLD = 28.0
