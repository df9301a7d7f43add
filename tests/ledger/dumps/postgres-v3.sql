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
    birth_txid bigint NOT NULL
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
    finished_at timestamp with time zone
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
    status text NOT NULL
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
    received text DEFAULT '[]'::text NOT NULL
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
    finished_at timestamp with time zone
);
CREATE TABLE public.trident_schema (
    version bigint NOT NULL,
    applied_at timestamp with time zone NOT NULL
);
CREATE TABLE public.trident_staging_balances (
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
INSERT INTO public.trident_applied VALUES ('payments', 'totals', 'totals', '79c3c5cc8c5bf946', 1, '7b6c0b884e415ad004956ae3f25c15f3', 4, 4, 0);
INSERT INTO public.trident_applied VALUES ('payments', 'balances', 'balances', '79c3c5cc8c5bf946', 1, '7b6c0b884e415ad004956ae3f25c15f3', 5, 5, 0);
INSERT INTO public.trident_commit VALUES ('payments', '79c3c5cc8c5bf946', 1, 1, 1, 1, 10, 0, 20, 37, 1687, 271, '2026-11-21 20:54:51.371717+00');
INSERT INTO public.trident_commit VALUES ('payments', '79c3c5cc8c5bf946', 2, 2, 1, 1, 10, 1, 18, 11, 56, 175, '2026-11-21 20:54:51.725623+00');
INSERT INTO public.trident_commit VALUES ('payments', '79c3c5cc8c5bf946', 3, 3, 1, 1, 10, 0, 12, 38, 25, 124, '2026-11-21 20:54:51.942973+00');
INSERT INTO public.trident_commit VALUES ('payments', '79c3c5cc8c5bf946', 4, 4, 1, 1, 10, 0, 12, 7, 37, 60, '2026-11-21 20:54:52.100895+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', '79c3c5cc8c5bf946', 2, 's', 't', 1, 4, 2, NULL, 'unreadable', NULL, '\x7b', '2026-11-21 20:54:51.624925+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', '79c3c5cc8c5bf946', 5, 's', 't', 2, 14, 5, NULL, 'unreadable', NULL, '\x7b', '2026-11-21 20:54:52.219524+00');
INSERT INTO public.trident_fence VALUES ('payments', 1, '7b6c0b884e415ad004956ae3f25c15f3', 'host-a:4455', 4623, NULL, NULL, '2026-11-21 20:54:49.006822+00');
INSERT INTO public.trident_heartbeat VALUES ('payments', 1, '2026-11-21 20:54:52.204519+00', 2, true);
INSERT INTO public.trident_incarnation VALUES ('payments', '79c3c5cc8c5bf946', 0, '2026-11-21 20:54:49.029882+00', 'first start', '[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0}]', 'open');
INSERT INTO public.trident_loss VALUES ('payments', 3, 's', 't', 0, 8, 12, '79c3c5cc8c5bf946', 3, 'done', 'offsets were gone before they could be read', '2026-11-21 20:54:51.754511+00');
INSERT INTO public.trident_pin VALUES ('payments', '79c3c5cc8c5bf946', 1, 1, 1, '{"txid":1,"attempt":1,"tries":1,"predecessor":0,"batch_time":"2026-11-21T20:54:49.363841Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}],"losses":[],"timers":[],"received":[]}', '[["s",{"edge":5596801119022299018,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":1644536987454006195,"id":{"topic":"t","partition":1},"position":3,"digest":{"count":3,"low":8198611466,"high":7690257502,"xor":2827710363885277684},"size_bytes":30,"newest":null}],["s",{"edge":2073328680577323978,"id":{"topic":"t","partition":2},"position":3,"digest":{"count":3,"low":7828599485,"high":7739987886,"xor":5776354104709286691},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":10,"writes":[{"state":"balances","write_id":"476e4955e3a84812a88a601345f37fc7","digest":{"count":10,"low":14951385760,"high":23256868859,"xor":627740570233414054}}]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"ec4e25ae97ce4740ab6b9992313a6c31","digest":{"count":10,"low":21381804092,"high":18375720749,"xor":956865780319510404}}]}]', '2026-11-21 20:54:51.115935+00');
INSERT INTO public.trident_pin VALUES ('payments', '79c3c5cc8c5bf946', 2, 2, 1, '{"txid":2,"attempt":2,"tries":1,"predecessor":1,"batch_time":"2026-11-21T20:54:51.442209Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}],"losses":[],"timers":[],"received":[]}', '[["s",{"edge":8364256056409471769,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":8727058934106201535,"id":{"topic":"t","partition":1},"position":6,"digest":{"count":3,"low":7829741746,"high":4845278986,"xor":-2371495996774441076},"size_bytes":30,"newest":null}],["s",{"edge":5524397998923884677,"id":{"topic":"t","partition":2},"position":6,"digest":{"count":3,"low":7674514060,"high":4127129895,"xor":-3877374842051218062},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":9,"writes":[{"state":"balances","write_id":"0992b6cd4a89467392bcbf0b0b9a2807","digest":{"count":9,"low":22099244437,"high":15305379844,"xor":-6649989465763180069}}]},{"state":"totals","rows":9,"writes":[{"state":"totals","write_id":"df631c27b3ba4591aa35e7cf434728fd","digest":{"count":9,"low":12095102996,"high":21329059168,"xor":-4163317750672291836}}]}]', '2026-11-21 20:54:51.573997+00');
INSERT INTO public.trident_pin VALUES ('payments', '79c3c5cc8c5bf946', 3, 3, 1, '{"txid":3,"attempt":3,"tries":1,"predecessor":2,"batch_time":"2026-11-21T20:54:51.737968Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}],"losses":[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}],"timers":[],"received":[]}', '[["s",{"edge":3719624732124680034,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":6623377683764825702,"id":{"topic":"t","partition":1},"position":9,"digest":{"count":3,"low":2485935014,"high":10742783727,"xor":-4470561495925423240},"size_bytes":30,"newest":null}],["s",{"edge":2139456691429547353,"id":{"topic":"t","partition":2},"position":9,"digest":{"count":3,"low":5087235535,"high":7737651774,"xor":4416186592842412565},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"8c1a153c310d44c0af77ec42ffb8bc5a","digest":{"count":6,"low":16602912848,"high":13114981360,"xor":-7506332114472322296}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"9c65bc07b2fc4d1590ad0bd232e44e8a","digest":{"count":6,"low":11967051007,"high":13475691836,"xor":7471268417375480005}}]}]', '2026-11-21 20:54:51.816069+00');
INSERT INTO public.trident_pin VALUES ('payments', '79c3c5cc8c5bf946', 4, 4, 1, '{"txid":4,"attempt":4,"tries":1,"predecessor":3,"batch_time":"2026-11-21T20:54:51.961520Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":16,"stop":20}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}],"losses":[],"timers":[],"received":[]}', '[["s",{"edge":7591658093318499635,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":1052504878206866127,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":3,"low":5509149607,"high":5826329423,"xor":-1319194361734820773},"size_bytes":30,"newest":null}],["s",{"edge":5670715060561149040,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":3,"low":8377343765,"high":4695263004,"xor":8836137819986319609},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"814528124ade476a8a4c09ace98c4976","digest":{"count":6,"low":10975238866,"high":13727716717,"xor":-7695462876249805046}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"e6b52f59b2a44c2089a9e99ec01a17e0","digest":{"count":6,"low":13228359812,"high":8444118278,"xor":2914612715820304238}}]}]', '2026-11-21 20:54:52.043706+00');
INSERT INTO public.trident_pin VALUES ('payments', '79c3c5cc8c5bf946', 5, 5, 1, '{"txid":5,"attempt":5,"tries":1,"predecessor":4,"batch_time":"2026-11-21T20:54:52.109128Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":20,"stop":24}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":12,"stop":15}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":12,"stop":15}}],"losses":[],"timers":[],"received":[]}', '[["s",{"edge":1699161176755425428,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":1724132485271697011,"id":{"topic":"t","partition":1},"position":15,"digest":{"count":3,"low":11050248779,"high":4864124197,"xor":-1872763135543339053},"size_bytes":30,"newest":null}],["s",{"edge":7233924023649517382,"id":{"topic":"t","partition":2},"position":15,"digest":{"count":3,"low":7572195244,"high":8159084010,"xor":4230571151696431190},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"79e92e56d1174cc8b22d6d86b64b715a","digest":{"count":6,"low":17725695511,"high":19676002587,"xor":7734404953588841843}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"ab56a6d5eb534e9a8973d71000063c77","digest":{"count":6,"low":14999166653,"high":12073902728,"xor":-6988755783466426833}}]}]', '2026-11-21 20:54:52.219061+00');
INSERT INTO public.trident_plan VALUES ('payments', 1, '79c3c5cc8c5bf946', 1, 1, 1, 0, 'done', '2026-11-21 20:54:49.363841+00', '2026-11-21 20:54:49.376933+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 2, '79c3c5cc8c5bf946', 2, 1, 1, 1, 'done', '2026-11-21 20:54:51.442209+00', '2026-11-21 20:54:51.449323+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 3, '79c3c5cc8c5bf946', 3, 1, 1, 2, 'done', '2026-11-21 20:54:51.737968+00', '2026-11-21 20:54:51.751686+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}]', '[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 4, '79c3c5cc8c5bf946', 4, 1, 1, 3, 'done', '2026-11-21 20:54:51.96152+00', '2026-11-21 20:54:51.964613+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":16,"stop":20}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}]', '[]', '[]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 5, '79c3c5cc8c5bf946', 5, 1, 1, 4, 'live', '2026-11-21 20:54:52.109128+00', '2026-11-21 20:54:52.118484+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":20,"stop":24}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":12,"stop":15}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":12,"stop":15}}]', '[]', '[]', '[]');
INSERT INTO public.trident_progress VALUES ('payments', '79c3c5cc8c5bf946', 4, 4, 5, 5, 5, 5, NULL, NULL, 0);
INSERT INTO public.trident_schema VALUES (1, '2026-11-21 20:54:48.924601+00');
INSERT INTO public.trident_schema VALUES (2, '2026-11-21 20:54:48.948929+00');
INSERT INTO public.trident_schema VALUES (3, '2026-11-21 20:54:48.95047+00');
INSERT INTO public.trident_staging_balances VALUES (1, 1, '476e4955e3a84812a88a601345f37fc7', -2719117916118529976, 'a0', 1, 1);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '476e4955e3a84812a88a601345f37fc7', 420012867307786641, 'a7', 1, 2);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '476e4955e3a84812a88a601345f37fc7', 3589518934749276305, 'a3', 1, 3);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '476e4955e3a84812a88a601345f37fc7', -2343310023145716295, 'a10', 1, 4);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '476e4955e3a84812a88a601345f37fc7', -2150877243303717347, 'a1', 1, 1);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '476e4955e3a84812a88a601345f37fc7', -5753786605170288958, 'a8', 1, 2);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '476e4955e3a84812a88a601345f37fc7', -5969209383073532074, 'a4', 1, 3);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '476e4955e3a84812a88a601345f37fc7', 8745923344904591095, 'a2', 1, 1);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '476e4955e3a84812a88a601345f37fc7', -9054220410366903876, 'a9', 1, 2);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '476e4955e3a84812a88a601345f37fc7', 4442093163676945813, 'a5', 1, 3);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '0992b6cd4a89467392bcbf0b0b9a2807', -7433720974394433792, 'a6', 1, 5);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '0992b6cd4a89467392bcbf0b0b9a2807', 4130209845464033469, 'a2', 1, 6);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '0992b6cd4a89467392bcbf0b0b9a2807', -4707540536718636234, 'a9', 1, 7);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '0992b6cd4a89467392bcbf0b0b9a2807', 8224477245703931633, 'a5', 1, 8);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '0992b6cd4a89467392bcbf0b0b9a2807', 6636933119621730529, 'a0', 1, 4);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '0992b6cd4a89467392bcbf0b0b9a2807', 3215246881978386105, 'a3', 1, 6);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '0992b6cd4a89467392bcbf0b0b9a2807', 3692041262156907421, 'a1', 1, 4);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '0992b6cd4a89467392bcbf0b0b9a2807', 3038932480760663919, 'a8', 1, 5);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '0992b6cd4a89467392bcbf0b0b9a2807', -6400705640764411637, 'a4', 1, 6);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '8c1a153c310d44c0af77ec42ffb8bc5a', 1029837388281589451, 'a7', 2, 21);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '8c1a153c310d44c0af77ec42ffb8bc5a', -1394748963975540051, 'a3', 2, 23);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '8c1a153c310d44c0af77ec42ffb8bc5a', 2235344867055180704, 'a10', 2, 22);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '8c1a153c310d44c0af77ec42ffb8bc5a', -2266177985977868867, 'a6', 2, 24);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '8c1a153c310d44c0af77ec42ffb8bc5a', -4156006147418296506, 'a2', 1, 9);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '8c1a153c310d44c0af77ec42ffb8bc5a', 5539934666358795829, 'a0', 1, 7);
INSERT INTO public.trident_staging_balances VALUES (4, 4, '814528124ade476a8a4c09ace98c4976', 1091357257161808119, 'a2', 2, 29);
INSERT INTO public.trident_staging_balances VALUES (4, 4, '814528124ade476a8a4c09ace98c4976', -2369546254619235845, 'a9', 2, 28);
INSERT INTO public.trident_staging_balances VALUES (4, 4, '814528124ade476a8a4c09ace98c4976', -6703013909023490431, 'a5', 2, 30);
INSERT INTO public.trident_staging_balances VALUES (4, 4, '814528124ade476a8a4c09ace98c4976', 5675918004952315919, 'a1', 2, 32);
INSERT INTO public.trident_staging_balances VALUES (4, 4, '814528124ade476a8a4c09ace98c4976', 8986403172888253540, 'a10', 1, 10);
INSERT INTO public.trident_staging_balances VALUES (4, 4, '814528124ade476a8a4c09ace98c4976', -3061256133245580052, 'a6', 1, 11);
INSERT INTO public.trident_staging_balances VALUES (5, 5, '79e92e56d1174cc8b22d6d86b64b715a', -285363886525202141, 'a8', 2, 34);
INSERT INTO public.trident_staging_balances VALUES (5, 5, '79e92e56d1174cc8b22d6d86b64b715a', -1479734719125867164, 'a4', 2, 36);
INSERT INTO public.trident_staging_balances VALUES (5, 5, '79e92e56d1174cc8b22d6d86b64b715a', -7665291312896456084, 'a0', 2, 38);
INSERT INTO public.trident_staging_balances VALUES (5, 5, '79e92e56d1174cc8b22d6d86b64b715a', -5552432322361429038, 'a7', 1, 24);
INSERT INTO public.trident_staging_balances VALUES (5, 5, '79e92e56d1174cc8b22d6d86b64b715a', -2450889273363988250, 'a9', 1, 13);
INSERT INTO public.trident_staging_balances VALUES (5, 5, '79e92e56d1174cc8b22d6d86b64b715a', -8738965283082276756, 'a5', 1, 14);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'ec4e25ae97ce4740ab6b9992313a6c31', 5871513072476079855, 'a0', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'ec4e25ae97ce4740ab6b9992313a6c31', -4386520184328323600, 'a7', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'ec4e25ae97ce4740ab6b9992313a6c31', 3543519028485942392, 'a3', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'ec4e25ae97ce4740ab6b9992313a6c31', -2144613935287274015, 'a10', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'ec4e25ae97ce4740ab6b9992313a6c31', 4534164649568515732, 'a1', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'ec4e25ae97ce4740ab6b9992313a6c31', -7983242520444880288, 'a8', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'ec4e25ae97ce4740ab6b9992313a6c31', 2707137908748603150, 'a4', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'ec4e25ae97ce4740ab6b9992313a6c31', 8185777402330496365, 'a2', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'ec4e25ae97ce4740ab6b9992313a6c31', -6627046107248417792, 'a9', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'ec4e25ae97ce4740ab6b9992313a6c31', 1435454069626480533, 'a5', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'df631c27b3ba4591aa35e7cf434728fd', 1930891586587335712, 'a6', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'df631c27b3ba4591aa35e7cf434728fd', -4861381134463066607, 'a2', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'df631c27b3ba4591aa35e7cf434728fd', -1431335272781132609, 'a9', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'df631c27b3ba4591aa35e7cf434728fd', -4127859724069756109, 'a5', 1, 8);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'df631c27b3ba4591aa35e7cf434728fd', 5920739799765292502, 'a0', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'df631c27b3ba4591aa35e7cf434728fd', 4170467868372892774, 'a3', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'df631c27b3ba4591aa35e7cf434728fd', -4669849109514785574, 'a1', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'df631c27b3ba4591aa35e7cf434728fd', -3460993481323590906, 'a8', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, 'df631c27b3ba4591aa35e7cf434728fd', 5903210691983125461, 'a4', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '9c65bc07b2fc4d1590ad0bd232e44e8a', -2677288881757968998, 'a7', 2, 21);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '9c65bc07b2fc4d1590ad0bd232e44e8a', 315936604771268878, 'a3', 2, 23);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '9c65bc07b2fc4d1590ad0bd232e44e8a', 7148068778905977638, 'a10', 2, 22);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '9c65bc07b2fc4d1590ad0bd232e44e8a', -4389465953788719779, 'a6', 2, 24);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '9c65bc07b2fc4d1590ad0bd232e44e8a', -8474870157752782851, 'a2', 1, 9);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '9c65bc07b2fc4d1590ad0bd232e44e8a', -7831700946654734889, 'a0', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'e6b52f59b2a44c2089a9e99ec01a17e0', 5354962574365800476, 'a2', 2, 29);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'e6b52f59b2a44c2089a9e99ec01a17e0', 5653221358866610670, 'a9', 2, 28);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'e6b52f59b2a44c2089a9e99ec01a17e0', -8792658519475201330, 'a5', 2, 30);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'e6b52f59b2a44c2089a9e99ec01a17e0', 4550178179337874101, 'a1', 2, 32);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'e6b52f59b2a44c2089a9e99ec01a17e0', -8975457335311384657, 'a10', 1, 10);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'e6b52f59b2a44c2089a9e99ec01a17e0', 1583477455591393608, 'a6', 1, 11);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ab56a6d5eb534e9a8973d71000063c77', 3463033251608904948, 'a8', 2, 34);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ab56a6d5eb534e9a8973d71000063c77', 4633920387943896693, 'a4', 2, 36);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ab56a6d5eb534e9a8973d71000063c77', -4626154461001422392, 'a0', 2, 38);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ab56a6d5eb534e9a8973d71000063c77', -6672124975802928633, 'a7', 1, 24);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ab56a6d5eb534e9a8973d71000063c77', -8739491943961450413, 'a9', 1, 13);
INSERT INTO public.trident_staging_totals VALUES (5, 5, 'ab56a6d5eb534e9a8973d71000063c77', 8457602886928695090, 'a5', 1, 14);
INSERT INTO public.trident_state_fence VALUES ('payments', 1, '7b6c0b884e415ad004956ae3f25c15f3');
INSERT INTO public.trident_state_schema VALUES (1, '2026-11-21 20:54:49.128955+00');
INSERT INTO public.trident_topology VALUES ('payments', '79c3c5cc8c5bf946', '{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"postgres","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"postgres","kind":"opaque","table":"totals","database":"own"}}}', '2026-11-21 20:54:49.023677+00');
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
CREATE UNIQUE INDEX trident_key_balances ON public.balances USING btree (account) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX trident_key_totals ON public.totals USING btree (account) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX trident_plan_live ON public.trident_plan USING btree (topology, txid) WHERE (status = 'live'::text);
CREATE INDEX trident_plan_txid ON public.trident_plan USING btree (topology, txid);
