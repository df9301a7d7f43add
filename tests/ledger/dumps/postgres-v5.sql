CREATE TABLE public.balances (
    account text COLLATE pg_catalog."C",
    n bigint,
    total bigint,
    previous_n bigint,
    previous_total bigint,
    previous_txid bigint,
    txid bigint NOT NULL
)
WITH (fillfactor='45');
CREATE TABLE public.totals (
    account text COLLATE pg_catalog."C",
    n bigint,
    total bigint,
    previous_n bigint,
    previous_total bigint,
    previous_txid bigint,
    txid bigint NOT NULL
)
WITH (fillfactor='45');
CREATE TABLE public.trident_applied (
    topology text NOT NULL,
    state text NOT NULL,
    table_name text NOT NULL,
    incarnation text NOT NULL,
    epoch bigint NOT NULL,
    token text NOT NULL,
    txid bigint NOT NULL,
    attempt bigint NOT NULL,
    birth_txid bigint NOT NULL,
    row_count bigint,
    relation text
);
CREATE TABLE public.trident_commit (
    topology character varying NOT NULL,
    incarnation character varying NOT NULL,
    txid bigint NOT NULL,
    attempt bigint NOT NULL,
    tries bigint NOT NULL,
    epoch bigint NOT NULL,
    records bigint NOT NULL,
    dead_letters bigint NOT NULL,
    keys bigint NOT NULL,
    plan_ms bigint NOT NULL,
    process_ms bigint NOT NULL,
    commit_ms bigint NOT NULL,
    done_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_dead_letter (
    topology character varying NOT NULL,
    incarnation character varying NOT NULL,
    txid bigint NOT NULL,
    spout character varying NOT NULL,
    topic character varying NOT NULL,
    partition bigint NOT NULL,
    record_offset bigint NOT NULL,
    attempt bigint NOT NULL,
    record_timestamp bigint,
    reason text NOT NULL,
    record_key bytea,
    record_value bytea,
    pinned_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_decision (
    topology character varying NOT NULL,
    epoch bigint NOT NULL,
    incarnation text NOT NULL,
    txid bigint NOT NULL,
    attempt bigint NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    decided_by text NOT NULL,
    decided_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    void boolean DEFAULT false NOT NULL
);
CREATE TABLE public.trident_diverted (
    topology character varying NOT NULL,
    incarnation character varying NOT NULL,
    txid bigint NOT NULL,
    state character varying NOT NULL,
    number bigint NOT NULL,
    attempt bigint NOT NULL,
    staged_row text NOT NULL,
    diverted_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_done_plan (
    topology character varying NOT NULL,
    incarnation text NOT NULL,
    txid bigint NOT NULL,
    attempt bigint NOT NULL,
    ranges text NOT NULL
);
CREATE TABLE public.trident_fence (
    topology character varying NOT NULL,
    number bigint NOT NULL,
    token text NOT NULL,
    holder text NOT NULL,
    session_pid bigint,
    session_host text,
    session_started double precision,
    raised_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_heartbeat (
    topology character varying NOT NULL,
    epoch bigint NOT NULL,
    beat_at timestamp with time zone NOT NULL,
    lease_seconds double precision NOT NULL,
    released boolean NOT NULL
);
CREATE TABLE public.trident_incarnation (
    topology character varying NOT NULL,
    id character varying NOT NULL,
    birth_txid bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    reason text NOT NULL,
    starts text,
    status text NOT NULL,
    births text
);
CREATE TABLE public.trident_loss (
    topology character varying NOT NULL,
    attempt bigint NOT NULL,
    spout character varying NOT NULL,
    topic character varying NOT NULL,
    partition bigint NOT NULL,
    start_offset bigint NOT NULL,
    stop_offset bigint NOT NULL,
    incarnation text NOT NULL,
    txid bigint NOT NULL,
    status text NOT NULL,
    reason text NOT NULL,
    recorded_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_pin (
    topology character varying NOT NULL,
    incarnation character varying NOT NULL,
    txid bigint NOT NULL,
    attempt bigint NOT NULL,
    epoch bigint NOT NULL,
    plan text NOT NULL,
    manifests text NOT NULL,
    states text NOT NULL,
    pinned_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_plan (
    topology character varying NOT NULL,
    attempt bigint NOT NULL,
    incarnation text NOT NULL,
    txid bigint NOT NULL,
    tries bigint NOT NULL,
    epoch bigint NOT NULL,
    predecessor bigint NOT NULL,
    status text NOT NULL,
    batch_time timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ranges text NOT NULL,
    losses text NOT NULL,
    timers text DEFAULT '[]'::text NOT NULL,
    received text DEFAULT '[]'::text NOT NULL,
    diverts text DEFAULT '[]'::text NOT NULL
);
CREATE TABLE public.trident_progress (
    topology character varying NOT NULL,
    incarnation text NOT NULL,
    done bigint NOT NULL,
    done_attempt bigint NOT NULL,
    pinned bigint,
    pinned_attempt bigint,
    last_txid bigint NOT NULL,
    last_attempt bigint NOT NULL,
    reset_to text,
    undoing bigint,
    held bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.trident_refusal (
    topology character varying NOT NULL,
    epoch bigint NOT NULL,
    incarnation text NOT NULL,
    txid bigint NOT NULL,
    attempt bigint NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    refused_at timestamp with time zone NOT NULL,
    settled_by text,
    settled_at timestamp with time zone
);
CREATE TABLE public.trident_reset (
    topology character varying NOT NULL,
    incarnation character varying NOT NULL,
    birth_txid bigint NOT NULL,
    states text NOT NULL,
    start text,
    epoch bigint NOT NULL,
    decided_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    streams text,
    begins text,
    stood text
);
CREATE TABLE public.trident_schema (
    version bigint NOT NULL,
    applied_at timestamp with time zone NOT NULL
);
CREATE UNLOGGED TABLE public.trident_staging_balances (
    trident_txid bigint NOT NULL,
    trident_attempt bigint NOT NULL,
    trident_write_id text NOT NULL COLLATE pg_catalog."C",
    trident_digest bigint NOT NULL,
    account text COLLATE pg_catalog."C",
    n bigint,
    total bigint
);
CREATE TABLE public.trident_staging_totals (
    trident_txid bigint NOT NULL,
    trident_attempt bigint NOT NULL,
    trident_write_id text NOT NULL COLLATE pg_catalog."C",
    trident_digest bigint NOT NULL,
    account text COLLATE pg_catalog."C",
    n bigint,
    total bigint
);
CREATE TABLE public.trident_state_fence (
    topology text NOT NULL,
    epoch bigint NOT NULL,
    token text NOT NULL
);
CREATE TABLE public.trident_state_schema (
    version bigint NOT NULL,
    applied_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_topology (
    name character varying NOT NULL,
    incarnation text NOT NULL,
    spec text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
INSERT INTO public.balances VALUES ('a3', 4, 32, 2, 9, 2, 3);
INSERT INTO public.balances VALUES ('a2', 5, 45, 3, 16, 3, 4);
INSERT INTO public.balances VALUES ('a1', 4, 37, 2, 5, 2, 4);
INSERT INTO public.balances VALUES ('a10', 4, 36, 3, 26, 3, 4);
INSERT INTO public.balances VALUES ('a6', 4, 40, 3, 29, 3, 4);
INSERT INTO public.balances VALUES ('a8', 4, 41, 2, 7, 2, 5);
INSERT INTO public.balances VALUES ('a4', 4, 45, 2, 9, 2, 5);
INSERT INTO public.balances VALUES ('a0', 5, 50, 3, 12, 3, 5);
INSERT INTO public.balances VALUES ('a7', 4, 47, 3, 23, 3, 5);
INSERT INTO public.balances VALUES ('a9', 5, 50, 4, 37, 4, 5);
INSERT INTO public.balances VALUES ('a5', 5, 55, 4, 41, 4, 5);
INSERT INTO public.totals VALUES ('a8', 2, 7, 1, 2, 1, 2);
INSERT INTO public.totals VALUES ('a4', 2, 9, 1, 3, 1, 2);
INSERT INTO public.totals VALUES ('a7', 3, 23, 1, 2, 1, 3);
INSERT INTO public.totals VALUES ('a3', 4, 32, 2, 9, 2, 3);
INSERT INTO public.totals VALUES ('a0', 3, 12, 2, 5, 2, 3);
INSERT INTO public.totals VALUES ('a2', 5, 45, 3, 16, 3, 4);
INSERT INTO public.totals VALUES ('a9', 4, 37, 2, 9, 2, 4);
INSERT INTO public.totals VALUES ('a5', 4, 41, 2, 11, 2, 4);
INSERT INTO public.totals VALUES ('a1', 4, 37, 2, 5, 2, 4);
INSERT INTO public.totals VALUES ('a10', 4, 36, 3, 26, 3, 4);
INSERT INTO public.totals VALUES ('a6', 4, 40, 3, 29, 3, 4);
INSERT INTO public.trident_applied VALUES ('payments', 'totals', 'totals', '198da10e5540035f', 1, '62275836e977ede47c884b6e0752dc9c', 4, 4, 0, 11, '16788:16788');
INSERT INTO public.trident_applied VALUES ('payments', 'balances', 'balances', '198da10e5540035f', 1, '62275836e977ede47c884b6e0752dc9c', 5, 5, 0, 11, '16771:16771');
INSERT INTO public.trident_commit VALUES ('payments', '198da10e5540035f', 1, 1, 1, 1, 10, 0, 20, 18, 1043, 165, '2026-11-22 15:43:33.131944+00');
INSERT INTO public.trident_commit VALUES ('payments', '198da10e5540035f', 2, 2, 1, 1, 10, 1, 18, 44, 29, 101, '2026-11-22 15:43:33.330838+00');
INSERT INTO public.trident_commit VALUES ('payments', '198da10e5540035f', 3, 3, 1, 1, 10, 0, 12, 20, 25, 53, '2026-11-22 15:43:33.44576+00');
INSERT INTO public.trident_commit VALUES ('payments', '198da10e5540035f', 4, 4, 1, 1, 10, 0, 12, 20, 8, 59, '2026-11-22 15:43:33.558021+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', '198da10e5540035f', 2, 's', 't', 1, 4, 2, NULL, 'unreadable', NULL, '\x7b', '2026-11-22 15:43:33.274384+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', '198da10e5540035f', 5, 's', 't', 2, 14, 5, NULL, 'unreadable', NULL, '\x7b', '2026-11-22 15:43:33.621736+00');
INSERT INTO public.trident_done_plan VALUES ('payments', '198da10e5540035f', 4, 4, '{"changed":[["s","t","id",null,[[0,16,20],[1,9,12],[2,9,12]]]]}');
INSERT INTO public.trident_fence VALUES ('payments', 1, '62275836e977ede47c884b6e0752dc9c', 'host-a:29780', 30166, NULL, NULL, '2026-11-22 15:43:30.982643+00');
INSERT INTO public.trident_heartbeat VALUES ('payments', 1, '2026-11-22 15:43:33.073024+00', 2, true);
INSERT INTO public.trident_incarnation VALUES ('payments', '198da10e5540035f', 0, '2026-11-22 15:43:31.719909+00', 'first start', '[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0,"epoch":null},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0,"epoch":null}]', 'open', '[{"state":"balances","txid":0,"with_rows":false},{"state":"totals","txid":0,"with_rows":false}]');
INSERT INTO public.trident_loss VALUES ('payments', 3, 's', 't', 0, 8, 12, '198da10e5540035f', 3, 'done', 'offsets were gone before they could be read', '2026-11-22 15:43:33.353643+00');
INSERT INTO public.trident_pin VALUES ('payments', '198da10e5540035f', 1, 1, 1, '{}', '[["s",{"edge":3291600480437696925,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":1830226063662829775,"id":{"topic":"t","partition":1},"position":3,"digest":{"count":3,"low":8198611466,"high":7690257502,"xor":2827710363885277684},"size_bytes":30,"newest":null}],["s",{"edge":2508030071369611552,"id":{"topic":"t","partition":2},"position":3,"digest":{"count":3,"low":7828599485,"high":7739987886,"xor":5776354104709286691},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":10,"writes":[]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"360b1e44502b40edaab9bd6708d2ebbf","digest":{"count":10,"low":21577264694,"high":20530670911,"xor":7129425822371622676}}]}]', '2026-11-22 15:43:33.013756+00');
INSERT INTO public.trident_pin VALUES ('payments', '198da10e5540035f', 2, 2, 1, '{}', '[["s",{"edge":2454266145718876268,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":1709721732326856767,"id":{"topic":"t","partition":1},"position":6,"digest":{"count":3,"low":7829741746,"high":4845278986,"xor":-2371495996774441076},"size_bytes":30,"newest":null}],["s",{"edge":4142164371534030968,"id":{"topic":"t","partition":2},"position":6,"digest":{"count":3,"low":7674514060,"high":4127129895,"xor":-3877374842051218062},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":9,"writes":[]},{"state":"totals","rows":9,"writes":[{"state":"totals","write_id":"0f168a7d753d482b8949a620aaf46214","digest":{"count":9,"low":22199839026,"high":17113434751,"xor":5011133049213310860}}]}]', '2026-11-22 15:43:33.266256+00');
INSERT INTO public.trident_pin VALUES ('payments', '198da10e5540035f', 3, 3, 1, '{}', '[["s",{"edge":4754905222549631976,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":8024563962596015084,"id":{"topic":"t","partition":1},"position":9,"digest":{"count":3,"low":2485935014,"high":10742783727,"xor":-4470561495925423240},"size_bytes":30,"newest":null}],["s",{"edge":667311332069522338,"id":{"topic":"t","partition":2},"position":9,"digest":{"count":3,"low":5087235535,"high":7737651774,"xor":4416186592842412565},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"d9b9b99426f6469d9a56418a6dec6000","digest":{"count":6,"low":17939744031,"high":14642616557,"xor":-6581354620997219793}}]}]', '2026-11-22 15:43:33.408308+00');
INSERT INTO public.trident_pin VALUES ('payments', '198da10e5540035f', 4, 4, 1, '{}', '[["s",{"edge":3790629625446541445,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":7720058122547354090,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":3,"low":5509149607,"high":5826329423,"xor":-1319194361734820773},"size_bytes":30,"newest":null}],["s",{"edge":7244449670257909359,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":3,"low":8377343765,"high":4695263004,"xor":8836137819986319609},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"5aca18339fd94861926256b16639701e","digest":{"count":6,"low":9675527258,"high":16415680110,"xor":326524958424029554}}]}]', '2026-11-22 15:43:33.489017+00');
INSERT INTO public.trident_pin VALUES ('payments', '198da10e5540035f', 5, 5, 1, '{}', '[["s",{"edge":5394334967944202287,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":2734862544873561064,"id":{"topic":"t","partition":1},"position":15,"digest":{"count":3,"low":11050248779,"high":4864124197,"xor":-1872763135543339053},"size_bytes":30,"newest":null}],["s",{"edge":6429791234078831995,"id":{"topic":"t","partition":2},"position":15,"digest":{"count":3,"low":7572195244,"high":8159084010,"xor":4230571151696431190},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"109786e6a75247208edad12762bade08","digest":{"count":6,"low":13021745859,"high":18939451104,"xor":4943952285902623947}}]}]', '2026-11-22 15:43:33.616318+00');
INSERT INTO public.trident_plan VALUES ('payments', 1, '198da10e5540035f', 1, 1, 1, 0, 'done', '2026-11-22 15:43:31.85877+00', '2026-11-22 15:43:31.873661+00', '{"changed":[["s","t","id",null,[[0,0,4],[1,0,3],[2,0,3]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 2, '198da10e5540035f', 2, 1, 1, 1, 'done', '2026-11-22 15:43:33.147492+00', '2026-11-22 15:43:33.168603+00', '{"changed":[["s","t","id",null,[[0,4,8],[1,3,6],[2,3,6]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 3, '198da10e5540035f', 3, 1, 1, 2, 'done', '2026-11-22 15:43:33.340046+00', '2026-11-22 15:43:33.346032+00', '{"changed":[["s","t","id",null,[[0,12,16],[1,6,9],[2,6,9]]]]}', '[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 4, '198da10e5540035f', 4, 1, 1, 3, 'done', '2026-11-22 15:43:33.453265+00', '2026-11-22 15:43:33.464006+00', '{"changed":[["s","t","id",null,[[0,16,20],[1,9,12],[2,9,12]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 5, '198da10e5540035f', 5, 1, 1, 4, 'live', '2026-11-22 15:43:33.568116+00', '2026-11-22 15:43:33.573931+00', '{"changed":[["s","t","id",null,[[0,20,24],[1,12,15],[2,12,15]]]]}', '[]', '[]', '[]', '[]');
INSERT INTO public.trident_progress VALUES ('payments', '198da10e5540035f', 4, 4, 5, 5, 5, 5, NULL, NULL, 0);
INSERT INTO public.trident_schema VALUES (1, '2026-11-22 15:43:30.742538+00');
INSERT INTO public.trident_schema VALUES (2, '2026-11-22 15:43:30.793882+00');
INSERT INTO public.trident_schema VALUES (3, '2026-11-22 15:43:30.802288+00');
INSERT INTO public.trident_schema VALUES (4, '2026-11-22 15:43:30.840457+00');
INSERT INTO public.trident_schema VALUES (5, '2026-11-22 15:43:30.845294+00');
INSERT INTO public.trident_staging_totals VALUES (1, 1, '360b1e44502b40edaab9bd6708d2ebbf', -7537962640872050436, 'a0', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '360b1e44502b40edaab9bd6708d2ebbf', -3982233339932032446, 'a7', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '360b1e44502b40edaab9bd6708d2ebbf', -3719070110646598520, 'a3', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '360b1e44502b40edaab9bd6708d2ebbf', 3557657336231930081, 'a10', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '360b1e44502b40edaab9bd6708d2ebbf', 141399762981940623, 'a1', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '360b1e44502b40edaab9bd6708d2ebbf', -7069693277683997849, 'a8', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '360b1e44502b40edaab9bd6708d2ebbf', -5318716436584006992, 'a4', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '360b1e44502b40edaab9bd6708d2ebbf', -7026919675478956281, 'a2', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '360b1e44502b40edaab9bd6708d2ebbf', 7244885126455516715, 'a9', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, '360b1e44502b40edaab9bd6708d2ebbf', 1208748962531736759, 'a5', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '0f168a7d753d482b8949a620aaf46214', 499496792117021666, 'a6', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '0f168a7d753d482b8949a620aaf46214', -592040393991450474, 'a2', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '0f168a7d753d482b8949a620aaf46214', -2292532449572928390, 'a9', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '0f168a7d753d482b8949a620aaf46214', 1158522024834196712, 'a5', 1, 8);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '0f168a7d753d482b8949a620aaf46214', -6153761291372348941, 'a0', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '0f168a7d753d482b8949a620aaf46214', 3224757742783850246, 'a3', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '0f168a7d753d482b8949a620aaf46214', -5012334379605555223, 'a1', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '0f168a7d753d482b8949a620aaf46214', 7590393872147457686, 'a8', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '0f168a7d753d482b8949a620aaf46214', 1292164387796292576, 'a4', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'd9b9b99426f6469d9a56418a6dec6000', -6301813344752110351, 'a7', 2, 21);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'd9b9b99426f6469d9a56418a6dec6000', 8390822381831572835, 'a3', 2, 23);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'd9b9b99426f6469d9a56418a6dec6000', -6443050351966452969, 'a10', 2, 22);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'd9b9b99426f6469d9a56418a6dec6000', -993658491386551385, 'a6', 2, 24);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'd9b9b99426f6469d9a56418a6dec6000', 4897429334305462156, 'a2', 1, 9);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'd9b9b99426f6469d9a56418a6dec6000', 7999597508962288769, 'a0', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '5aca18339fd94861926256b16639701e', -1257952111072275521, 'a2', 2, 29);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '5aca18339fd94861926256b16639701e', 6261049131214694753, 'a9', 2, 28);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '5aca18339fd94861926256b16639701e', -5776677513423003194, 'a5', 2, 30);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '5aca18339fd94861926256b16639701e', 8646097070761937006, 'a1', 2, 32);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '5aca18339fd94861926256b16639701e', -2236710800579833471, 'a10', 1, 10);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '5aca18339fd94861926256b16639701e', -8917972848016516219, 'a6', 1, 11);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '109786e6a75247208edad12762bade08', -7930607439539314396, 'a8', 2, 34);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '109786e6a75247208edad12762bade08', -7910931660053747780, 'a4', 2, 36);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '109786e6a75247208edad12762bade08', -3537517319457184210, 'a0', 2, 38);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '109786e6a75247208edad12762bade08', -753787110573787172, 'a7', 1, 24);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '109786e6a75247208edad12762bade08', -5316615778753178339, 'a9', 1, 13);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '109786e6a75247208edad12762bade08', -3886682024987257156, 'a5', 1, 14);
INSERT INTO public.trident_state_fence VALUES ('payments', 1, '62275836e977ede47c884b6e0752dc9c');
INSERT INTO public.trident_state_schema VALUES (1, '2026-11-22 15:43:31.457875+00');
INSERT INTO public.trident_state_schema VALUES (2, '2026-11-22 15:43:31.459699+00');
INSERT INTO public.trident_topology VALUES ('payments', '198da10e5540035f', '{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"postgres","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"postgres","kind":"opaque","table":"totals","database":"own"}}}', '2026-11-22 15:43:31.71698+00');
ALTER TABLE ONLY public.trident_applied
    ADD CONSTRAINT trident_applied_pkey PRIMARY KEY (topology, state);
ALTER TABLE ONLY public.trident_applied
    ADD CONSTRAINT trident_applied_table_name_key UNIQUE (table_name);
ALTER TABLE ONLY public.trident_commit
    ADD CONSTRAINT trident_commit_pkey PRIMARY KEY (topology, incarnation, txid);
ALTER TABLE ONLY public.trident_dead_letter
    ADD CONSTRAINT trident_dead_letter_pkey PRIMARY KEY (topology, incarnation, txid, spout, topic, partition, record_offset);
ALTER TABLE ONLY public.trident_decision
    ADD CONSTRAINT trident_decision_pkey PRIMARY KEY (topology, epoch);
ALTER TABLE ONLY public.trident_diverted
    ADD CONSTRAINT trident_diverted_pkey PRIMARY KEY (topology, incarnation, txid, state, number);
ALTER TABLE ONLY public.trident_done_plan
    ADD CONSTRAINT trident_done_plan_pkey PRIMARY KEY (topology);
ALTER TABLE ONLY public.trident_fence
    ADD CONSTRAINT trident_fence_pkey PRIMARY KEY (topology);
ALTER TABLE ONLY public.trident_heartbeat
    ADD CONSTRAINT trident_heartbeat_pkey PRIMARY KEY (topology);
ALTER TABLE ONLY public.trident_incarnation
    ADD CONSTRAINT trident_incarnation_pkey PRIMARY KEY (topology, id);
ALTER TABLE ONLY public.trident_loss
    ADD CONSTRAINT trident_loss_pkey PRIMARY KEY (topology, attempt, spout, topic, partition, start_offset);
ALTER TABLE ONLY public.trident_pin
    ADD CONSTRAINT trident_pin_pkey PRIMARY KEY (topology, incarnation, txid);
ALTER TABLE ONLY public.trident_plan
    ADD CONSTRAINT trident_plan_pkey PRIMARY KEY (topology, attempt);
ALTER TABLE ONLY public.trident_progress
    ADD CONSTRAINT trident_progress_pkey PRIMARY KEY (topology);
ALTER TABLE ONLY public.trident_refusal
    ADD CONSTRAINT trident_refusal_pkey PRIMARY KEY (topology, epoch);
ALTER TABLE ONLY public.trident_reset
    ADD CONSTRAINT trident_reset_pkey PRIMARY KEY (topology, incarnation);
ALTER TABLE ONLY public.trident_schema
    ADD CONSTRAINT trident_schema_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.trident_state_fence
    ADD CONSTRAINT trident_state_fence_pkey PRIMARY KEY (topology);
ALTER TABLE ONLY public.trident_state_schema
    ADD CONSTRAINT trident_state_schema_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.trident_topology
    ADD CONSTRAINT trident_topology_pkey PRIMARY KEY (name);
CREATE INDEX trident_by_txid_trident_staging_balances ON public.trident_staging_balances USING btree (trident_txid);
CREATE INDEX trident_by_txid_trident_staging_totals ON public.trident_staging_totals USING btree (trident_txid);
CREATE INDEX trident_commit_txid ON public.trident_commit USING btree (topology, txid);
CREATE UNIQUE INDEX trident_key_balances ON public.balances USING btree (account) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX trident_key_totals ON public.totals USING btree (account) NULLS NOT DISTINCT;
CREATE INDEX trident_pin_txid ON public.trident_pin USING btree (topology, txid);
CREATE UNIQUE INDEX trident_plan_live ON public.trident_plan USING btree (topology, txid) WHERE (status = 'live'::text);
CREATE INDEX trident_plan_open ON public.trident_plan USING btree (topology, incarnation, txid) WHERE (status = 'live'::text);
CREATE INDEX trident_plan_txid ON public.trident_plan USING btree (topology, txid, attempt);
