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
    reset_to text
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
INSERT INTO public.trident_applied VALUES ('payments', 'totals', 'totals', '096ffc4af537581e', 1, '7b5e6848a1d9324e8ddcae401e8b352d', 4, 4, 0);
INSERT INTO public.trident_applied VALUES ('payments', 'balances', 'balances', '096ffc4af537581e', 1, '7b5e6848a1d9324e8ddcae401e8b352d', 5, 5, 0);
INSERT INTO public.trident_commit VALUES ('payments', '096ffc4af537581e', 1, 1, 1, 1, 10, 0, 20, 8, 319, 36, '2026-11-21 10:48:38.545618+00');
INSERT INTO public.trident_commit VALUES ('payments', '096ffc4af537581e', 2, 2, 1, 1, 10, 1, 18, 3, 5, 12, '2026-11-21 10:48:38.569647+00');
INSERT INTO public.trident_commit VALUES ('payments', '096ffc4af537581e', 3, 3, 1, 1, 10, 0, 12, 3, 3, 9, '2026-11-21 10:48:38.591327+00');
INSERT INTO public.trident_commit VALUES ('payments', '096ffc4af537581e', 4, 4, 1, 1, 10, 0, 12, 2, 3, 17, '2026-11-21 10:48:38.6183+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', '096ffc4af537581e', 2, 's', 't', 1, 4, 2, NULL, 'unreadable', NULL, '\x7b', '2026-11-21 10:48:38.559408+00');
INSERT INTO public.trident_dead_letter VALUES ('payments', '096ffc4af537581e', 5, 's', 't', 2, 14, 5, NULL, 'unreadable', NULL, '\x7b', '2026-11-21 10:48:38.632389+00');
INSERT INTO public.trident_fence VALUES ('payments', 1, '7b5e6848a1d9324e8ddcae401e8b352d', 'host-a:2712', 2866, NULL, NULL, '2026-11-21 10:48:38.10079+00');
INSERT INTO public.trident_heartbeat VALUES ('payments', 1, '2026-11-21 10:48:38.101481+00', 2, true);
INSERT INTO public.trident_incarnation VALUES ('payments', '096ffc4af537581e', 0, '2026-11-21 10:48:38.105274+00', 'first start', '[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0}]', 'open');
INSERT INTO public.trident_loss VALUES ('payments', 3, 's', 't', 0, 8, 12, '096ffc4af537581e', 3, 'done', 'offsets were gone before they could be read', '2026-11-21 10:48:38.573029+00');
INSERT INTO public.trident_pin VALUES ('payments', '096ffc4af537581e', 1, 1, 1, '{"txid":1,"attempt":1,"tries":1,"predecessor":0,"batch_time":"2026-11-21T10:48:38.177856Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}],"losses":[]}', '[["s",{"edge":6376152228870097823,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":1800180385128939944,"id":{"topic":"t","partition":1},"position":3,"digest":{"count":3,"low":8198611466,"high":7690257502,"xor":2827710363885277684},"size_bytes":30,"newest":null}],["s",{"edge":2006741238775964076,"id":{"topic":"t","partition":2},"position":3,"digest":{"count":3,"low":7828599485,"high":7739987886,"xor":5776354104709286691},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":10,"writes":[{"state":"balances","write_id":"3e3b13e78bce4847ac6ffa062cd8163a","digest":{"count":10,"low":12269955053,"high":20171721714,"xor":-6795980747116591055}}]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"da595018791d47f293135313179e1b6f","digest":{"count":10,"low":19333000893,"high":21295022662,"xor":-2293105603706844093}}]}]', '2026-11-21 10:48:38.512587+00');
INSERT INTO public.trident_pin VALUES ('payments', '096ffc4af537581e', 2, 2, 1, '{"txid":2,"attempt":2,"tries":1,"predecessor":1,"batch_time":"2026-11-21T10:48:38.549659Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}],"losses":[]}', '[["s",{"edge":6750388432321178716,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":1792020603584599357,"id":{"topic":"t","partition":1},"position":6,"digest":{"count":3,"low":7829741746,"high":4845278986,"xor":-2371495996774441076},"size_bytes":30,"newest":null}],["s",{"edge":2841938767956548398,"id":{"topic":"t","partition":2},"position":6,"digest":{"count":3,"low":7674514060,"high":4127129895,"xor":-3877374842051218062},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":9,"writes":[{"state":"balances","write_id":"a0bfae04b03544f38d8c8aa947277b67","digest":{"count":9,"low":20897630941,"high":23184645296,"xor":5081145033141123249}}]},{"state":"totals","rows":9,"writes":[{"state":"totals","write_id":"472f4e56565e46458017b75c8d27ae6b","digest":{"count":9,"low":14770339841,"high":20151075415,"xor":-3839361109692823905}}]}]', '2026-11-21 10:48:38.558298+00');
INSERT INTO public.trident_pin VALUES ('payments', '096ffc4af537581e', 3, 3, 1, '{"txid":3,"attempt":3,"tries":1,"predecessor":2,"batch_time":"2026-11-21T10:48:38.570840Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}],"losses":[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]}', '[["s",{"edge":6252843025380919050,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":927796829562603513,"id":{"topic":"t","partition":1},"position":9,"digest":{"count":3,"low":2485935014,"high":10742783727,"xor":-4470561495925423240},"size_bytes":30,"newest":null}],["s",{"edge":816880961357030686,"id":{"topic":"t","partition":2},"position":9,"digest":{"count":3,"low":5087235535,"high":7737651774,"xor":4416186592842412565},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"6b44e3b33f4f40adb294aef5b2df6c31","digest":{"count":6,"low":15148358535,"high":13439249907,"xor":2708304367660650513}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"364bd7e430434f8fb2919b7d28174466","digest":{"count":6,"low":10692726457,"high":17573815674,"xor":-1770305525718508181}}]}]', '2026-11-21 10:48:38.578621+00');
INSERT INTO public.trident_pin VALUES ('payments', '096ffc4af537581e', 4, 4, 1, '{"txid":4,"attempt":4,"tries":1,"predecessor":3,"batch_time":"2026-11-21T10:48:38.593360Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":16,"stop":20}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}],"losses":[]}', '[["s",{"edge":8466442833440229027,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":4993629340395112810,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":3,"low":5509149607,"high":5826329423,"xor":-1319194361734820773},"size_bytes":30,"newest":null}],["s",{"edge":8332903200134854232,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":3,"low":8377343765,"high":4695263004,"xor":8836137819986319609},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"a4fba3bff7804571870ee2ed12ed0778","digest":{"count":6,"low":12448933031,"high":9343539441,"xor":-769317319342452211}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"5ca269f31a454056bb69bd7ae2780b5d","digest":{"count":6,"low":9453005534,"high":17711471845,"xor":-6100799322052112080}}]}]', '2026-11-21 10:48:38.60073+00');
INSERT INTO public.trident_pin VALUES ('payments', '096ffc4af537581e', 5, 5, 1, '{"txid":5,"attempt":5,"tries":1,"predecessor":4,"batch_time":"2026-11-21T10:48:38.621009Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":20,"stop":24}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":12,"stop":15}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":12,"stop":15}}],"losses":[]}', '[["s",{"edge":3069411638529401583,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":8673472203003912847,"id":{"topic":"t","partition":1},"position":15,"digest":{"count":3,"low":11050248779,"high":4864124197,"xor":-1872763135543339053},"size_bytes":30,"newest":null}],["s",{"edge":879972248337360561,"id":{"topic":"t","partition":2},"position":15,"digest":{"count":3,"low":7572195244,"high":8159084010,"xor":4230571151696431190},"size_bytes":30,"newest":null}]]', '[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"e6242e57473245f391bdf3afbf755bd6","digest":{"count":6,"low":14305756954,"high":17790406373,"xor":6629212304627486908}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"4bd459ebd79149ccbebcbe6bf514a18e","digest":{"count":6,"low":13070566249,"high":11351180100,"xor":-7801404207488516941}}]}]', '2026-11-21 10:48:38.632077+00');
INSERT INTO public.trident_plan VALUES ('payments', 1, '096ffc4af537581e', 1, 1, 1, 0, 'done', '2026-11-21 10:48:38.177856+00', '2026-11-21 10:48:38.181624+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 2, '096ffc4af537581e', 2, 1, 1, 1, 'done', '2026-11-21 10:48:38.549659+00', '2026-11-21 10:48:38.551199+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 3, '096ffc4af537581e', 3, 1, 1, 2, 'done', '2026-11-21 10:48:38.57084+00', '2026-11-21 10:48:38.572277+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}]', '[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]');
INSERT INTO public.trident_plan VALUES ('payments', 4, '096ffc4af537581e', 4, 1, 1, 3, 'done', '2026-11-21 10:48:38.59336+00', '2026-11-21 10:48:38.594797+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":16,"stop":20}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}]', '[]');
INSERT INTO public.trident_plan VALUES ('payments', 5, '096ffc4af537581e', 5, 1, 1, 4, 'live', '2026-11-21 10:48:38.621009+00', '2026-11-21 10:48:38.622601+00', '[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":20,"stop":24}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":12,"stop":15}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":12,"stop":15}}]', '[]');
INSERT INTO public.trident_progress VALUES ('payments', '096ffc4af537581e', 4, 4, 5, 5, 5, 5, NULL);
INSERT INTO public.trident_schema VALUES (1, '2026-11-21 10:48:38.086118+00');
INSERT INTO public.trident_staging_balances VALUES (1, 1, '3e3b13e78bce4847ac6ffa062cd8163a', -7397356167591002309, 'a0', 1, 1);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '3e3b13e78bce4847ac6ffa062cd8163a', 8829986218110786050, 'a7', 1, 2);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '3e3b13e78bce4847ac6ffa062cd8163a', -7027774753730938118, 'a3', 1, 3);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '3e3b13e78bce4847ac6ffa062cd8163a', -4551384058892732879, 'a10', 1, 4);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '3e3b13e78bce4847ac6ffa062cd8163a', -5941279635879494587, 'a1', 1, 1);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '3e3b13e78bce4847ac6ffa062cd8163a', 675155902684282689, 'a8', 1, 2);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '3e3b13e78bce4847ac6ffa062cd8163a', -1284354675410751620, 'a4', 1, 3);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '3e3b13e78bce4847ac6ffa062cd8163a', 8444299372816159538, 'a2', 1, 1);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '3e3b13e78bce4847ac6ffa062cd8163a', 281030212678056164, 'a9', 1, 2);
INSERT INTO public.trident_staging_balances VALUES (1, 1, '3e3b13e78bce4847ac6ffa062cd8163a', 2374842294580897389, 'a5', 1, 3);
INSERT INTO public.trident_staging_balances VALUES (2, 2, 'a0bfae04b03544f38d8c8aa947277b67', 6677947114128876883, 'a6', 1, 5);
INSERT INTO public.trident_staging_balances VALUES (2, 2, 'a0bfae04b03544f38d8c8aa947277b67', 5683036034339997624, 'a2', 1, 6);
INSERT INTO public.trident_staging_balances VALUES (2, 2, 'a0bfae04b03544f38d8c8aa947277b67', 4535470279544980137, 'a9', 1, 7);
INSERT INTO public.trident_staging_balances VALUES (2, 2, 'a0bfae04b03544f38d8c8aa947277b67', -2658126078407997974, 'a5', 1, 8);
INSERT INTO public.trident_staging_balances VALUES (2, 2, 'a0bfae04b03544f38d8c8aa947277b67', -6343554167006317636, 'a0', 1, 4);
INSERT INTO public.trident_staging_balances VALUES (2, 2, 'a0bfae04b03544f38d8c8aa947277b67', -3984929100017845987, 'a3', 1, 6);
INSERT INTO public.trident_staging_balances VALUES (2, 2, 'a0bfae04b03544f38d8c8aa947277b67', -8186777386582603498, 'a1', 1, 4);
INSERT INTO public.trident_staging_balances VALUES (2, 2, 'a0bfae04b03544f38d8c8aa947277b67', -6303697474242998663, 'a8', 1, 5);
INSERT INTO public.trident_staging_balances VALUES (2, 2, 'a0bfae04b03544f38d8c8aa947277b67', -522540327435530025, 'a4', 1, 6);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '6b44e3b33f4f40adb294aef5b2df6c31', -9108182188948216444, 'a7', 2, 21);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '6b44e3b33f4f40adb294aef5b2df6c31', 3581258569729735582, 'a3', 2, 23);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '6b44e3b33f4f40adb294aef5b2df6c31', -7886078827196866247, 'a10', 2, 22);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '6b44e3b33f4f40adb294aef5b2df6c31', 4700100021103119607, 'a6', 2, 24);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '6b44e3b33f4f40adb294aef5b2df6c31', -1585857066167470531, 'a2', 1, 9);
INSERT INTO public.trident_staging_balances VALUES (3, 3, '6b44e3b33f4f40adb294aef5b2df6c31', -5767077954874108424, 'a0', 1, 7);
INSERT INTO public.trident_staging_balances VALUES (4, 4, 'a4fba3bff7804571870ee2ed12ed0778', 2453886804939104449, 'a2', 2, 29);
INSERT INTO public.trident_staging_balances VALUES (4, 4, 'a4fba3bff7804571870ee2ed12ed0778', 2126854534678103888, 'a9', 2, 28);
INSERT INTO public.trident_staging_balances VALUES (4, 4, 'a4fba3bff7804571870ee2ed12ed0778', -45068797365391024, 'a5', 2, 30);
INSERT INTO public.trident_staging_balances VALUES (4, 4, 'a4fba3bff7804571870ee2ed12ed0778', 4362351415285203469, 'a1', 2, 32);
INSERT INTO public.trident_staging_balances VALUES (4, 4, 'a4fba3bff7804571870ee2ed12ed0778', 6141842585273819517, 'a10', 1, 10);
INSERT INTO public.trident_staging_balances VALUES (4, 4, 'a4fba3bff7804571870ee2ed12ed0778', 6643585723909662652, 'a6', 1, 11);
INSERT INTO public.trident_staging_balances VALUES (5, 5, 'e6242e57473245f391bdf3afbf755bd6', -6025606529228249959, 'a8', 2, 34);
INSERT INTO public.trident_staging_balances VALUES (5, 5, 'e6242e57473245f391bdf3afbf755bd6', -3607603226812652380, 'a4', 2, 36);
INSERT INTO public.trident_staging_balances VALUES (5, 5, 'e6242e57473245f391bdf3afbf755bd6', 8523760089418117268, 'a0', 2, 38);
INSERT INTO public.trident_staging_balances VALUES (5, 5, 'e6242e57473245f391bdf3afbf755bd6', -682526872649124834, 'a7', 1, 24);
INSERT INTO public.trident_staging_balances VALUES (5, 5, 'e6242e57473245f391bdf3afbf755bd6', 8341651973855085209, 'a9', 1, 13);
INSERT INTO public.trident_staging_balances VALUES (5, 5, 'e6242e57473245f391bdf3afbf755bd6', -3927438160530647406, 'a5', 1, 14);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'da595018791d47f293135313179e1b6f', 3502349812390723203, 'a0', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'da595018791d47f293135313179e1b6f', 1035723906369652682, 'a7', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'da595018791d47f293135313179e1b6f', -6536945415247186010, 'a3', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'da595018791d47f293135313179e1b6f', -3916789054484254028, 'a10', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'da595018791d47f293135313179e1b6f', -4538452734817090811, 'a1', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'da595018791d47f293135313179e1b6f', 4083152458615180550, 'a8', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'da595018791d47f293135313179e1b6f', -2306261907186653612, 'a4', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'da595018791d47f293135313179e1b6f', 7214014010219026004, 'a2', 1, 1);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'da595018791d47f293135313179e1b6f', 4390977612827563942, 'a9', 1, 2);
INSERT INTO public.trident_staging_totals VALUES (1, 1, 'da595018791d47f293135313179e1b6f', -3700063137032857155, 'a5', 1, 3);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '472f4e56565e46458017b75c8d27ae6b', -5398830613158380864, 'a6', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '472f4e56565e46458017b75c8d27ae6b', -7868502453861660809, 'a2', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '472f4e56565e46458017b75c8d27ae6b', 9075581065795719666, 'a9', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '472f4e56565e46458017b75c8d27ae6b', -7753825727562700054, 'a5', 1, 8);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '472f4e56565e46458017b75c8d27ae6b', -2948745551084637096, 'a0', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '472f4e56565e46458017b75c8d27ae6b', -909821249625374317, 'a3', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '472f4e56565e46458017b75c8d27ae6b', 3809304571524047756, 'a1', 1, 4);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '472f4e56565e46458017b75c8d27ae6b', 2715832184920271559, 'a8', 1, 5);
INSERT INTO public.trident_staging_totals VALUES (2, 2, '472f4e56565e46458017b75c8d27ae6b', 3593497305929923760, 'a4', 1, 6);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '364bd7e430434f8fb2919b7d28174466', 3253234173398911029, 'a7', 2, 21);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '364bd7e430434f8fb2919b7d28174466', -2893731733290447905, 'a3', 2, 23);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '364bd7e430434f8fb2919b7d28174466', -7021731367988867594, 'a10', 2, 22);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '364bd7e430434f8fb2919b7d28174466', -1141252412633694283, 'a6', 2, 24);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '364bd7e430434f8fb2919b7d28174466', -481998486154589154, 'a2', 1, 9);
INSERT INTO public.trident_staging_totals VALUES (3, 3, '364bd7e430434f8fb2919b7d28174466', -8469276945424146212, 'a0', 1, 7);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '5ca269f31a454056bb69bd7ae2780b5d', -5443203055698109266, 'a2', 2, 29);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '5ca269f31a454056bb69bd7ae2780b5d', -6985906437259500440, 'a9', 2, 28);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '5ca269f31a454056bb69bd7ae2780b5d', -1757664183033755256, 'a5', 2, 30);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '5ca269f31a454056bb69bd7ae2780b5d', 4500636740396562915, 'a1', 2, 32);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '5ca269f31a454056bb69bd7ae2780b5d', -58779881466065176, 'a10', 1, 10);
INSERT INTO public.trident_staging_totals VALUES (4, 4, '5ca269f31a454056bb69bd7ae2780b5d', -6418611203734104203, 'a6', 1, 11);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '4bd459ebd79149ccbebcbe6bf514a18e', 1498148053649998087, 'a8', 2, 34);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '4bd459ebd79149ccbebcbe6bf514a18e', -6918060249882607357, 'a4', 2, 36);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '4bd459ebd79149ccbebcbe6bf514a18e', 1332633286217070608, 'a0', 2, 38);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '4bd459ebd79149ccbebcbe6bf514a18e', 5309701272770241111, 'a7', 1, 24);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '4bd459ebd79149ccbebcbe6bf514a18e', -6308360483563010492, 'a9', 1, 13);
INSERT INTO public.trident_staging_totals VALUES (5, 5, '4bd459ebd79149ccbebcbe6bf514a18e', -1501346786743770956, 'a5', 1, 14);
INSERT INTO public.trident_state_fence VALUES ('payments', 1, '7b5e6848a1d9324e8ddcae401e8b352d');
INSERT INTO public.trident_topology VALUES ('payments', '096ffc4af537581e', '{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"postgres","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"postgres","kind":"opaque","table":"totals","database":"own"}}}', '2026-11-21 10:48:38.104316+00');
ALTER TABLE ONLY public.trident_applied
    ADD CONSTRAINT trident_applied_pkey PRIMARY KEY (topology, state);
ALTER TABLE ONLY public.trident_applied
    ADD CONSTRAINT trident_applied_table_name_key UNIQUE (table_name);
ALTER TABLE ONLY public.trident_commit
    ADD CONSTRAINT trident_commit_pkey PRIMARY KEY (topology, incarnation, txid);
ALTER TABLE ONLY public.trident_dead_letter
    ADD CONSTRAINT trident_dead_letter_pkey PRIMARY KEY (topology, incarnation, txid, spout, topic, partition, record_offset);
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
