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
    losses text NOT NULL
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
INSERT INTO public.trident_applied VALUES ('payments', 'totals', 'totals', 'cf41b7e1924c1584', 1, 'b54a4e773569ffc032296d22c95a031e', 4, 4, 0);
INSERT INTO public.trident_applied VALUES ('payments', 'balances', 'balances', 'cf41b7e1924c1584', 1, 'b54a4e773569ffc032296d22c95a031e', 5, 5, 0);
INSERT INTO public.trident_commit VALUES ('payments', 'cf41b7e1924c1584', 1, 1, 1, 1, 10, 0, 20, 5, 195, 21, '2026-11-21 10:57:49.458952+00');
INSERT INTO public.trident_commit VALUES ('payments', 'cf41b7e1924c1584', 2, 2, 1, 1, 10, 1, 18, 3, 3, 12, '2026-11-21 10:57:49.482576+00');
INSERT INTO public.trident_commit VALUES ('payments', 'cf41b7e1924c1584', 3, 3, 1, 1, 10, 0, 12, 3, 3, 8, '2026-11-21 10:57:49.498599+00');
INSERT INTO public.trident_commit VALUES ('payments', 'cf41b7e1924c1584', 4, 4, 1, 1, 10, 0, 12, 2, 4, 11, '2026-11-21 10:57:49.517924+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', 'cf41b7e1924c1584', 2, 's', 't', 1, 4, 2, NULL, 'unreadable', NULL, '\x7b', '2026-11-21 10:57:49.472591+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', 'cf41b7e1924c1584', 5, 's', 't', 2, 14, 5, NULL, 'unreadable', NULL, '\x7b', '2026-11-21 10:57:49.533101+00');
INSERT INTO public.trident_fence VALUES ('payments', 1, 'b54a4e773569ffc032296d22c95a031e', 'host-a:2805', 2864, NULL, NULL, '2026-11-21 10:57:49.164234+00');
INSERT INTO public.trident_heartbeat VALUES ('payments', 1, '2026-11-21 10:57:49.164994+00', 2, true);
INSERT INTO public.trident_incarnation VALUES ('payments', 'cf41b7e1924c1584', 0, '2026-11-21 10:57:49.168774+00', 'first start', '[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0}]', 'open');
INSERT INTO public.trident_loss VALUES ('payments', 3, 's', 't', 0, 8, 12, 'cf41b7e1924c1584', 3, 'done', 'offsets were gone before they could be read', '2026-11-21 10:57:49.486279+00');
INSERT INTO public.trident_pin VALUES ('payments', 'cf41b7e1924c1584', 1, 1, 1, '{"txid":1,"attempt":1,"tries":1,"predecessor":0,"batch_time":"2026-11-21T10:57:49.230658Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}],"losses":[]}', '[["s",{"edge":3092979947469052221,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":3471024940794868906,"id":{"topic":"t","partition":1},"position":3,"digest":{"count":3,"low":8198611466,"high":7690257502,"xor":2827710363885277684},"size_bytes":30,"newest":null}],["s",{"edge":7546128188501996780,"id":{"topic":"t","partition":2},"position":3,"digest":{"count":3,"low":7828599485,"high":7739987886,"xor":5776354104709286691},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":10,"writes":[{"state":"balances","write_id":"ad6ca4affc1a42ea918e5b200e24995d","digest":{"count":10,"low":19136658541,"high":22402078063,"xor":-7318401184920667231}}]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"deae7ae6b7cc41eeb99a4218c7b19738","digest":{"count":10,"low":23915244364,"high":25680430147,"xor":655812021616036630}}]}]', '2026-11-21 10:57:49.438911+00');
INSERT INTO public.trident_pin VALUES ('payments', 'cf41b7e1924c1584', 2, 2, 1, '{"txid":2,"attempt":2,"tries":1,"predecessor":1,"batch_time":"2026-11-21T10:57:49.461195Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}],"losses":[]}', '[["s",{"edge":260017700607960429,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":2163484839860119728,"id":{"topic":"t","partition":1},"position":6,"digest":{"count":3,"low":7829741746,"high":4845278986,"xor":-2371495996774441076},"size_bytes":30,"newest":null}],["s",{"edge":1756204345473136570,"id":{"topic":"t","partition":2},"position":6,"digest":{"count":3,"low":7674514060,"high":4127129895,"xor":-3877374842051218062},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":9,"writes":[{"state":"balances","write_id":"526f2bc1aac14321b4d7cd204e6d5c72","digest":{"count":9,"low":17228943031,"high":17403701721,"xor":7766699523741261073}}]},{"state":"totals","rows":9,"writes":[{"state":"totals","write_id":"18bc509306f041cdad3100882113c932","digest":{"count":9,"low":20934192593,"high":20450027240,"xor":-4369359271180398995}}]}]', '2026-11-21 10:57:49.471548+00');
INSERT INTO public.trident_pin VALUES ('payments', 'cf41b7e1924c1584', 3, 3, 1, '{"txid":3,"attempt":3,"tries":1,"predecessor":2,"batch_time":"2026-11-21T10:57:49.483748Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}],"losses":[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]}', '[["s",{"edge":4259797428060904583,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":4576252476408282196,"id":{"topic":"t","partition":1},"position":9,"digest":{"count":3,"low":2485935014,"high":10742783727,"xor":-4470561495925423240},"size_bytes":30,"newest":null}],["s",{"edge":1584051693692971259,"id":{"topic":"t","partition":2},"position":9,"digest":{"count":3,"low":5087235535,"high":7737651774,"xor":4416186592842412565},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"710853a7444f4e1686740ff2215bd855","digest":{"count":6,"low":16191036537,"high":12989629935,"xor":-6526771627154330215}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"f199b759239f45b08ca35af0ccba6e9e","digest":{"count":6,"low":12775423318,"high":11663703838,"xor":-5788569948882784282}}]}]', '2026-11-21 10:57:49.491458+00');
INSERT INTO public.trident_pin VALUES ('payments', 'cf41b7e1924c1584', 4, 4, 1, '{"txid":4,"attempt":4,"tries":1,"predecessor":3,"batch_time":"2026-11-21T10:57:49.499697Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":16,"stop":20}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}],"losses":[]}', '[["s",{"edge":2278963010010084075,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":5862453877975555360,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":3,"low":5509149607,"high":5826329423,"xor":-1319194361734820773},"size_bytes":30,"newest":null}],["s",{"edge":1502511487507348443,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":3,"low":8377343765,"high":4695263004,"xor":8836137819986319609},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"c44150d63f724f63b972cb26297250db","digest":{"count":6,"low":17832234817,"high":16060060631,"xor":-3752022006773315785}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"c81812d37d32415aa72bcad539589fcc","digest":{"count":6,"low":10616031220,"high":15725287249,"xor":-5395867523005200948}}]}]', '2026-11-21 10:57:49.507194+00');
INSERT INTO public.trident_pin VALUES ('payments', 'cf41b7e1924c1584', 5, 5, 1, '{"txid":5,"attempt":5,"tries":1,"predecessor":4,"batch_time":"2026-11-21T10:57:49.519523Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":20,"stop":24}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":12,"stop":15}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":12,"stop":15}}],"losses":[]}', '[["s",{"edge":396799284813572479,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":5015806416774168478,"id":{"topic":"t","partition":1},"position":15,"digest":{"count":3,"low":11050248779,"high":4864124197,"xor":-1872763135543339053},"size_bytes":30,"newest":null}],["s",{"edge":6578908160039608197,"id":{"topic":"t","partition":2},"position":15,"digest":{"count":3,"low":7572195244,"high":8159084010,"xor":4230571151696431190},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"10b14de5b37a4e3a814e3d057fb1c21f","digest":{"count":6,"low":8393230216,"high":12622187837,"xor":-4416261625892980712}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"9a3e46edf4394e10858a409a8b600e26","digest":{"count":6,"low":15982848442,"high":15202521557,"xor":7309235843083152662}}]}]', '2026-11-21 10:57:49.532784+00');
INSERT INTO public.trident_plan VALUES ('payments', 1, 'cf41b7e1924c1584', 1, 1, 1, 0, 'done', '2026-11-21 10:57:49.230658+00', '2026-11-21 10:57:49.235004+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 2, 'cf41b7e1924c1584', 2, 1, 1, 1, 'done', '2026-11-21 10:57:49.461195+00', '2026-11-21 10:57:49.463121+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 3, 'cf41b7e1924c1584', 3, 1, 1, 2, 'done', '2026-11-21 10:57:49.483748+00', '2026-11-21 10:57:49.485254+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}]', '[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]');
INSERT INTO public.trident_plan VALUES ('payments', 4, 'cf41b7e1924c1584', 4, 1, 1, 3, 'done', '2026-11-21 10:57:49.499697+00', '2026-11-21 10:57:49.501309+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":16,"stop":20}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 5, 'cf41b7e1924c1584', 5, 1, 1, 4, 'live', '2026-11-21 10:57:49.519523+00', '2026-11-21 10:57:49.521381+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":20,"stop":24}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":12,"stop":15}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":12,"stop":15}}]', '[]');
INSERT INTO public.trident_progress VALUES ('payments', 'cf41b7e1924c1584', 4, 4, 5, 5, 5, 5, NULL, NULL, 0);
INSERT INTO public.trident_schema VALUES (1, '2026-11-21 10:57:49.139438+00');
INSERT INTO public.trident_schema VALUES (2, '2026-11-21 10:57:49.146025+00');
INSERT INTO public.trident_staging_balances VALUES (1, 1, 'ad6ca4affc1a42ea918e5b200e24995d', -1502959398663078160, 'a0', 1, 1);
INSERT INTO public.trident_staging_balances VALUES (1, 1, 'ad6ca4affc1a42ea918e5b200e24995d', -8028186746722434311, 'a7', 1, 2);
INSERT INTO public.trident_staging_balances VALUES (1, 1, 'ad6ca4affc1a42ea918e5b200e24995d', 6764678887194710427, 'a3', 1, 3);
INSERT INTO public.trident_staging_balances VALUES (1, 1, 'ad6ca4affc1a42ea918e5b200e24995d', -4071422788107891080, 'a10', 1, 4);
INSERT INTO public.trident_staging_balances VALUES (1, 1, 'ad6ca4affc1a42ea918e5b200e24995d', 2237426994191152004, 'a1', 1, 1);
INSERT INTO public.trident_staging_balances VALUES (1, 1, 'ad6ca4affc1a42ea918e5b200e24995d', 6643318022565534501, 'a8', 1, 2);
INSERT INTO public.trident_staging_balances VALUES (1, 1, 'ad6ca4affc1a42ea918e5b200e24995d', 7977438361523175645, 'a4', 1, 3);
INSERT INTO public.trident_staging_balances VALUES (1, 1, 'ad6ca4affc1a42ea918e5b200e24995d', 2782913069709532438, 'a2', 1, 1);
INSERT INTO public.trident_staging_balances VALUES (1, 1, 'ad6ca4affc1a42ea918e5b200e24995d', -2674825892864040613, 'a9', 1, 2);
INSERT INTO public.trident_staging_balances VALUES (1, 1, 'ad6ca4affc1a42ea918e5b200e24995d', -6145908215213732742, 'a5', 1, 3);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '526f2bc1aac14321b4d7cd204e6d5c72', -3419231158310143638, 'a6', 1, 5);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '526f2bc1aac14321b4d7cd204e6d5c72', -4914750571990634438, 'a2', 1, 6);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '526f2bc1aac14321b4d7cd204e6d5c72', 6396416733601321230, 'a9', 1, 7);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '526f2bc1aac14321b4d7cd204e6d5c72', -5101124257867927907, 'a5', 1, 8);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '526f2bc1aac14321b4d7cd204e6d5c72', -5100137585612248738, 'a0', 1, 4);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '526f2bc1aac14321b4d7cd204e6d5c72', 612386036312983802, 'a3', 1, 6);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '526f2bc1aac14321b4d7cd204e6d5c72', 3317501540511939710, 'a1', 1, 4);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '526f2bc1aac14321b4d7cd204e6d5c72', 5375984636668387909, 'a8', 1, 5);
INSERT INTO public.trident_staging_balances VALUES (2, 2, '526f2bc1aac14321b4d7cd204e6d5c72', 3794308070110975053, 'a4', 1, 6);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '710853a7444f4e1686740ff2215bd855', 6633780231939730531, 'a7', 2, 21);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '710853a7444f4e1686740ff2215bd855', -6789397042488834407, 'a3', 2, 23);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '710853a7444f4e1686740ff2215bd855', 2433552994080604530, 'a10', 2, 22);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '710853a7444f4e1686740ff2215bd855', 8179494825516654749, 'a6', 2, 24);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '710853a7444f4e1686740ff2215bd855', -5287831973323934983, 'a2', 1, 9);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '710853a7444f4e1686740ff2215bd855', -4719795482694232971, 'a0', 1, 7);
INSERT INTO public.trident_staging_balances VALUES (4, 4, 'c44150d63f724f63b972cb26297250db', -436851102066711040, 'a2', 2, 29);
INSERT INTO public.trident_staging_balances VALUES (4, 4, 'c44150d63f724f63b972cb26297250db', 6721331725825467899, 'a9', 2, 28);
INSERT INTO public.trident_staging_balances VALUES (4, 4, 'c44150d63f724f63b972cb26297250db', -1343370355929432772, 'a5', 2, 30);
INSERT INTO public.trident_staging_balances VALUES (4, 4, 'c44150d63f724f63b972cb26297250db', -4946877469286594659, 'a1', 2, 32);
INSERT INTO public.trident_staging_balances VALUES (4, 4, 'c44150d63f724f63b972cb26297250db', 8811600838915820100, 'a10', 1, 10);
INSERT INTO public.trident_staging_balances VALUES (4, 4, 'c44150d63f724f63b972cb26297250db', 4831369341167154217, 'a6', 1, 11);
INSERT INTO public.trident_staging_balances VALUES (5, 5, '10b14de5b37a4e3a814e3d057fb1c21f', 1801323281832208329, 'a8', 2, 34);
INSERT INTO public.trident_staging_balances VALUES (5, 5, '10b14de5b37a4e3a814e3d057fb1c21f', -3372631975594511153, 'a4', 2, 36);
INSERT INTO public.trident_staging_balances VALUES (5, 5, '10b14de5b37a4e3a814e3d057fb1c21f', -5990123521057661528, 'a0', 2, 38);
INSERT INTO public.trident_staging_balances VALUES (5, 5, '10b14de5b37a4e3a814e3d057fb1c21f', -8299698728400818327, 'a7', 1, 24);
INSERT INTO public.trident_staging_balances VALUES (5, 5, '10b14de5b37a4e3a814e3d057fb1c21f', 6481913408536916746, 'a9', 1, 13);
INSERT INTO public.trident_staging_balances VALUES (5, 5, '10b14de5b37a4e3a814e3d057fb1c21f', 8250869285832420053, 'a5', 1, 14);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'deae7ae6b7cc41eeb99a4218c7b19738', -4992403641174694919, 'a0', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'deae7ae6b7cc41eeb99a4218c7b19738', -6071881509977895148, 'a7', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'deae7ae6b7cc41eeb99a4218c7b19738', 2012798640489304524, 'a3', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'deae7ae6b7cc41eeb99a4218c7b19738', -6868925069101652095, 'a10', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'deae7ae6b7cc41eeb99a4218c7b19738', -4312709849246537723, 'a1', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'deae7ae6b7cc41eeb99a4218c7b19738', 4424404893147325660, 'a8', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'deae7ae6b7cc41eeb99a4218c7b19738', -7068260549850400173, 'a4', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'deae7ae6b7cc41eeb99a4218c7b19738', -8278291995712248823, 'a2', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'deae7ae6b7cc41eeb99a4218c7b19738', -4992508905578075291, 'a9', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'deae7ae6b7cc41eeb99a4218c7b19738', -1129566950178822064, 'a5', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '18bc509306f041cdad3100882113c932', -4040193055012079617, 'a6', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '18bc509306f041cdad3100882113c932', -4453847334605356502, 'a2', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '18bc509306f041cdad3100882113c932', 8767456182712107772, 'a9', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '18bc509306f041cdad3100882113c932', 1698290420933294403, 'a5', 1, 8);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '18bc509306f041cdad3100882113c932', 4279318942002984377, 'a0', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '18bc509306f041cdad3100882113c932', 5766774326405692857, 'a3', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '18bc509306f041cdad3100882113c932', -5883081980212560386, 'a1', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '18bc509306f041cdad3100882113c932', -4277310165766371311, 'a8', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '18bc509306f041cdad3100882113c932', -6258929485962134040, 'a4', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'f199b759239f45b08ca35af0ccba6e9e', -8032898712205148611, 'a7', 2, 21);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'f199b759239f45b08ca35af0ccba6e9e', 2489754539953729961, 'a3', 2, 23);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'f199b759239f45b08ca35af0ccba6e9e', -3423530993916086665, 'a10', 2, 22);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'f199b759239f45b08ca35af0ccba6e9e', 3738852692576577067, 'a6', 2, 24);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'f199b759239f45b08ca35af0ccba6e9e', -3685101153400037286, 'a2', 1, 9);
INSERT INTO public.trident_staging_totals VALUES (3, 3, 'f199b759239f45b08ca35af0ccba6e9e', 3667917953077416052, 'a0', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'c81812d37d32415aa72bcad539589fcc', -697021134753606306, 'a2', 2, 29);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'c81812d37d32415aa72bcad539589fcc', 4296997234016833996, 'a9', 2, 28);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'c81812d37d32415aa72bcad539589fcc', 8656047413609899277, 'a5', 2, 30);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'c81812d37d32415aa72bcad539589fcc', 4265869288458708405, 'a1', 2, 32);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'c81812d37d32415aa72bcad539589fcc', -2572862461702288457, 'a10', 1, 10);
INSERT INTO public.trident_staging_totals VALUES (4, 4, 'c81812d37d32415aa72bcad539589fcc', -1749668095481361839, 'a6', 1, 11);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '9a3e46edf4394e10858a409a8b600e26', -5872091601108809025, 'a8', 2, 34);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '9a3e46edf4394e10858a409a8b600e26', 6616849533518267218, 'a4', 2, 36);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '9a3e46edf4394e10858a409a8b600e26', -34809793422157454, 'a0', 2, 38);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '9a3e46edf4394e10858a409a8b600e26', -8194344459308811755, 'a7', 1, 24);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '9a3e46edf4394e10858a409a8b600e26', -3953517217875590065, 'a9', 1, 13);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '9a3e46edf4394e10858a409a8b600e26', 2945270163391742931, 'a5', 1, 14);
INSERT INTO public.trident_state_fence VALUES ('payments', 1, 'b54a4e773569ffc032296d22c95a031e');
INSERT INTO public.trident_topology VALUES ('payments', 'cf41b7e1924c1584', '{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"postgres","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"postgres","kind":"opaque","table":"totals","database":"own"}}}', '2026-11-21 10:57:49.167799+00');
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
ALTER TABLE ONLY public.trident_topology
    ADD CONSTRAINT trident_topology_pkey PRIMARY KEY (name);
CREATE INDEX trident_by_txid_trident_staging_balances ON public.trident_staging_balances USING btree (trident_txid);
CREATE INDEX trident_by_txid_trident_staging_totals ON public.trident_staging_totals USING btree (trident_txid);
CREATE UNIQUE INDEX trident_key_balances ON public.balances USING btree (account) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX trident_key_totals ON public.totals USING btree (account) NULLS NOT DISTINCT;
CREATE UNIQUE INDEX trident_plan_live ON public.trident_plan USING btree (topology, txid) WHERE (status = 'live'::text);
CREATE INDEX trident_plan_txid ON public.trident_plan USING btree (topology, txid);
