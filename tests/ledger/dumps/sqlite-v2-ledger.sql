BEGIN TRANSACTION;
CREATE TABLE "balances" ("account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_n" bigint CHECK (typeof("previous_n") IN ('integer', 'null') AND "previous_n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_total" bigint CHECK (typeof("previous_total") IN ('integer', 'null') AND "previous_total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "previous_txid" bigint CHECK (typeof("previous_txid") IN ('integer', 'null') AND "previous_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "txid" bigint NOT NULL CHECK (typeof("txid") IN ('integer', 'null') AND "txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "balances" VALUES('a0',5,50,3,12,3,5);
INSERT INTO "balances" VALUES('a7',4,47,3,23,3,5);
INSERT INTO "balances" VALUES('a3',4,32,2,9,2,3);
INSERT INTO "balances" VALUES('a10',4,36,3,26,3,4);
INSERT INTO "balances" VALUES('a1',4,37,2,5,2,4);
INSERT INTO "balances" VALUES('a8',4,41,2,7,2,5);
INSERT INTO "balances" VALUES('a4',4,45,2,9,2,5);
INSERT INTO "balances" VALUES('a2',5,45,3,16,3,4);
INSERT INTO "balances" VALUES('a9',5,50,4,37,4,5);
INSERT INTO "balances" VALUES('a5',5,55,4,41,4,5);
INSERT INTO "balances" VALUES('a6',4,40,3,29,3,4);
CREATE TABLE trident_applied (
            topology text NOT NULL, state text NOT NULL, table_name text NOT NULL UNIQUE,
            incarnation text NOT NULL, epoch bigint NOT NULL, token text NOT NULL,
            txid bigint NOT NULL, attempt bigint NOT NULL, birth_txid bigint NOT NULL,
            PRIMARY KEY (topology, state));
INSERT INTO "trident_applied" VALUES('payments','balances','balances','54482d2658b2640c',1,'3e295e098d64b6a70037272bb5e9e321',5,5,0);
CREATE TABLE trident_commit (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, records BIGINT NOT NULL, dead_letters BIGINT NOT NULL,
        keys BIGINT NOT NULL, plan_ms BIGINT NOT NULL, process_ms BIGINT NOT NULL, commit_ms BIGINT NOT NULL,
        done_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO "trident_commit" VALUES('payments','54482d2658b2640c',1,1,1,1,10,0,20,2,176,8,'2026-11-21T10:57:46.818+00:00');
INSERT INTO "trident_commit" VALUES('payments','54482d2658b2640c',2,2,1,1,10,1,18,1,2,5,'2026-11-21T10:57:46.828+00:00');
INSERT INTO "trident_commit" VALUES('payments','54482d2658b2640c',3,3,1,1,10,0,12,2,2,4,'2026-11-21T10:57:46.837+00:00');
INSERT INTO "trident_commit" VALUES('payments','54482d2658b2640c',4,4,1,1,10,0,12,1,2,4,'2026-11-21T10:57:46.845+00:00');
CREATE TABLE trident_dead_letter (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, spout VARCHAR NOT NULL,
        topic VARCHAR NOT NULL, partition BIGINT NOT NULL, record_offset BIGINT NOT NULL, attempt BIGINT NOT NULL,
        record_timestamp BIGINT, reason TEXT NOT NULL, record_key BLOB, record_value BLOB,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, spout, topic, partition, record_offset));
INSERT INTO "trident_dead_letter" VALUES('payments','54482d2658b2640c',2,'s','t',1,4,2,NULL,'unreadable',NULL,X'7B','2026-11-21T10:57:46.825+00:00');
INSERT INTO "trident_dead_letter" VALUES('payments','54482d2658b2640c',5,'s','t',2,14,5,NULL,'unreadable',NULL,X'7B','2026-11-21T10:57:46.850+00:00');
CREATE TABLE trident_decision (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        attempt BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, decided_by TEXT NOT NULL,
        decided_at VARCHAR NOT NULL, finished_at VARCHAR,
        PRIMARY KEY (topology, epoch));
CREATE TABLE trident_diverted (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, state VARCHAR NOT NULL,
        number BIGINT NOT NULL, attempt BIGINT NOT NULL, staged_row TEXT NOT NULL, diverted_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid, state, number));
CREATE TABLE trident_fence (
        topology VARCHAR NOT NULL, number BIGINT NOT NULL, token TEXT NOT NULL, holder TEXT NOT NULL,
        session_pid BIGINT, session_host TEXT, session_started DOUBLE, raised_at VARCHAR NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_fence" VALUES('payments',1,'3e295e098d64b6a70037272bb5e9e321','host-a:2788',2788,'host-a',1795258665.65,'2026-11-21T10:57:46.600+00:00');
CREATE TABLE trident_heartbeat (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, beat_at VARCHAR NOT NULL, lease_seconds DOUBLE NOT NULL,
        released BOOLEAN NOT NULL,
        PRIMARY KEY (topology));
INSERT INTO "trident_heartbeat" VALUES('payments',1,'2026-11-21T10:57:46.601+00:00',2.0,1);
CREATE TABLE trident_incarnation (
        topology VARCHAR NOT NULL, id VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, created_at VARCHAR NOT NULL,
        reason TEXT NOT NULL, starts TEXT, status TEXT NOT NULL,
        PRIMARY KEY (topology, id));
INSERT INTO "trident_incarnation" VALUES('payments','54482d2658b2640c',0,'2026-11-21T10:57:46.603+00:00','first start','[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0}]','open');
CREATE TABLE trident_loss (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, spout VARCHAR NOT NULL, topic VARCHAR NOT NULL,
        partition BIGINT NOT NULL, start_offset BIGINT NOT NULL, stop_offset BIGINT NOT NULL, incarnation TEXT NOT NULL,
        txid BIGINT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, recorded_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, attempt, spout, topic, partition, start_offset));
INSERT INTO "trident_loss" VALUES('payments',3,'s','t',0,8,12,'54482d2658b2640c',3,'done','offsets were gone before they could be read','2026-11-21T10:57:46.830+00:00');
CREATE TABLE trident_pin (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, txid BIGINT NOT NULL, attempt BIGINT NOT NULL,
        epoch BIGINT NOT NULL, plan TEXT NOT NULL, manifests TEXT NOT NULL, states TEXT NOT NULL,
        pinned_at VARCHAR NOT NULL,
        PRIMARY KEY (topology, incarnation, txid));
INSERT INTO "trident_pin" VALUES('payments','54482d2658b2640c',1,1,1,'{"txid":1,"attempt":1,"tries":1,"predecessor":0,"batch_time":"2026-11-21T10:57:46.628660Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}],"losses":[]}','[["s",{"edge":7993103087361830288,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":8648743869244259067,"id":{"topic":"t","partition":1},"position":3,"digest":{"count":3,"low":8198611466,"high":7690257502,"xor":2827710363885277684},"size_bytes":30,"newest":null}],["s",{"edge":5443686005938662815,"id":{"topic":"t","partition":2},"position":3,"digest":{"count":3,"low":7828599485,"high":7739987886,"xor":5776354104709286691},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":10,"writes":[{"state":"balances","write_id":"68c350b73d944a2692b2ac5a55fdd529","digest":{"count":10,"low":18262167488,"high":26022807288,"xor":7915733315699595172}}]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"2295bc8ee6904e858ef8ccbe01f66462","digest":{"count":10,"low":25371623135,"high":27359414080,"xor":-4804024566373167539}}]}]','2026-11-21T10:57:46.811+00:00');
INSERT INTO "trident_pin" VALUES('payments','54482d2658b2640c',2,2,1,'{"txid":2,"attempt":2,"tries":1,"predecessor":1,"batch_time":"2026-11-21T10:57:46.820069Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}],"losses":[]}','[["s",{"edge":3496893752870178816,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":8485586336682827629,"id":{"topic":"t","partition":1},"position":6,"digest":{"count":3,"low":7829741746,"high":4845278986,"xor":-2371495996774441076},"size_bytes":30,"newest":null}],["s",{"edge":4094644565341594591,"id":{"topic":"t","partition":2},"position":6,"digest":{"count":3,"low":7674514060,"high":4127129895,"xor":-3877374842051218062},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":9,"writes":[{"state":"balances","write_id":"c0b56c4317734066b462ecd6d7c3d781","digest":{"count":9,"low":14670344916,"high":19185284796,"xor":-3511066382386695818}}]},{"state":"totals","rows":9,"writes":[{"state":"totals","write_id":"3aaa57bcaa1041b9a0595d0e39be2e4a","digest":{"count":9,"low":25208678681,"high":12595517397,"xor":-1846413720345097843}}]}]','2026-11-21T10:57:46.824+00:00');
INSERT INTO "trident_pin" VALUES('payments','54482d2658b2640c',3,3,1,'{"txid":3,"attempt":3,"tries":1,"predecessor":2,"batch_time":"2026-11-21T10:57:46.829572Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}],"losses":[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]}','[["s",{"edge":8197954945838972199,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":6267629689668008583,"id":{"topic":"t","partition":1},"position":9,"digest":{"count":3,"low":2485935014,"high":10742783727,"xor":-4470561495925423240},"size_bytes":30,"newest":null}],["s",{"edge":1134622821988236910,"id":{"topic":"t","partition":2},"position":9,"digest":{"count":3,"low":5087235535,"high":7737651774,"xor":4416186592842412565},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"1b204ce8aab942b5bd8cb8e6771a2c7b","digest":{"count":6,"low":15258797980,"high":17127879072,"xor":7014285281142108384}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"a49be35e1b644348badd6b4d6a9399af","digest":{"count":6,"low":12412951957,"high":12282594601,"xor":6559550547228990999}}]}]','2026-11-21T10:57:46.833+00:00');
INSERT INTO "trident_pin" VALUES('payments','54482d2658b2640c',4,4,1,'{"txid":4,"attempt":4,"tries":1,"predecessor":3,"batch_time":"2026-11-21T10:57:46.838159Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":16,"stop":20}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}],"losses":[]}','[["s",{"edge":6937591226810069060,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":5596208984686620728,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":3,"low":5509149607,"high":5826329423,"xor":-1319194361734820773},"size_bytes":30,"newest":null}],["s",{"edge":4454098648918283125,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":3,"low":8377343765,"high":4695263004,"xor":8836137819986319609},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"37874c6e5c76426eaaf85a4fe5c92a98","digest":{"count":6,"low":11609429379,"high":16976018876,"xor":1220840322855493189}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"8ce1e9671d9d4183a6f1c182172ba9a7","digest":{"count":6,"low":8177237780,"high":9199134111,"xor":-860324282314243904}}]}]','2026-11-21T10:57:46.842+00:00');
INSERT INTO "trident_pin" VALUES('payments','54482d2658b2640c',5,5,1,'{"txid":5,"attempt":5,"tries":1,"predecessor":4,"batch_time":"2026-11-21T10:57:46.846310Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":20,"stop":24}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":12,"stop":15}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":12,"stop":15}}],"losses":[]}','[["s",{"edge":6229887920176753490,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":8546105504219941813,"id":{"topic":"t","partition":1},"position":15,"digest":{"count":3,"low":11050248779,"high":4864124197,"xor":-1872763135543339053},"size_bytes":30,"newest":null}],["s",{"edge":6194431938304263560,"id":{"topic":"t","partition":2},"position":15,"digest":{"count":3,"low":7572195244,"high":8159084010,"xor":4230571151696431190},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"0afd2415d7ca4bf283e31ead1ae64575","digest":{"count":6,"low":12642846968,"high":11886404776,"xor":6289325295795009210}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"51827499278e4737b69a8056c30f6ec4","digest":{"count":6,"low":8431879822,"high":9387323394,"xor":171226666251913102}}]}]','2026-11-21T10:57:46.850+00:00');
CREATE TABLE trident_plan (
        topology VARCHAR NOT NULL, attempt BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        tries BIGINT NOT NULL, epoch BIGINT NOT NULL, predecessor BIGINT NOT NULL, status TEXT NOT NULL,
        batch_time VARCHAR NOT NULL, created_at VARCHAR NOT NULL, ranges TEXT NOT NULL, losses TEXT NOT NULL,
        PRIMARY KEY (topology, attempt));
INSERT INTO "trident_plan" VALUES('payments',1,'54482d2658b2640c',1,1,1,0,'done','2026-11-21T10:57:46.628660+00:00','2026-11-21T10:57:46.630+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}]','[]');
INSERT INTO "trident_plan" VALUES('payments',2,'54482d2658b2640c',2,1,1,1,'done','2026-11-21T10:57:46.820069+00:00','2026-11-21T10:57:46.820+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}]','[]');
INSERT INTO "trident_plan" VALUES('payments',3,'54482d2658b2640c',3,1,1,2,'done','2026-11-21T10:57:46.829572+00:00','2026-11-21T10:57:46.830+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}]','[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]');
INSERT INTO "trident_plan" VALUES('payments',4,'54482d2658b2640c',4,1,1,3,'done','2026-11-21T10:57:46.838159+00:00','2026-11-21T10:57:46.838+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":16,"stop":20}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}]','[]');
INSERT INTO "trident_plan" VALUES('payments',5,'54482d2658b2640c',5,1,1,4,'live','2026-11-21T10:57:46.846310+00:00','2026-11-21T10:57:46.846+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":20,"stop":24}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":12,"stop":15}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":12,"stop":15}}]','[]');
CREATE TABLE trident_progress (
        topology VARCHAR NOT NULL, incarnation TEXT NOT NULL, done BIGINT NOT NULL, done_attempt BIGINT NOT NULL,
        pinned BIGINT, pinned_attempt BIGINT, last_txid BIGINT NOT NULL, last_attempt BIGINT NOT NULL, reset_to TEXT, undoing BIGINT, held BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (topology));
INSERT INTO "trident_progress" VALUES('payments','54482d2658b2640c',4,4,5,5,5,5,NULL,NULL,0);
CREATE TABLE trident_refusal (
        topology VARCHAR NOT NULL, epoch BIGINT NOT NULL, incarnation TEXT NOT NULL, txid BIGINT NOT NULL,
        attempt BIGINT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
        refused_at VARCHAR NOT NULL, settled_by TEXT, settled_at VARCHAR,
        PRIMARY KEY (topology, epoch));
CREATE TABLE trident_reset (
        topology VARCHAR NOT NULL, incarnation VARCHAR NOT NULL, birth_txid BIGINT NOT NULL, states TEXT NOT NULL,
        start TEXT, epoch BIGINT NOT NULL, decided_at VARCHAR NOT NULL, finished_at VARCHAR,
        PRIMARY KEY (topology, incarnation));
CREATE TABLE trident_schema (
	version BIGINT NOT NULL, 
	applied_at VARCHAR NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "trident_schema" VALUES(1,'2026-11-21T10:57:46.596+00:00');
INSERT INTO "trident_schema" VALUES(2,'2026-11-21T10:57:46.596+00:00');
CREATE TABLE "trident_staging_balances" ("trident_txid" bigint NOT NULL CHECK (typeof("trident_txid") IN ('integer', 'null') AND "trident_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_attempt" bigint NOT NULL CHECK (typeof("trident_attempt") IN ('integer', 'null') AND "trident_attempt" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_write_id" text NOT NULL, "trident_digest" bigint NOT NULL CHECK (typeof("trident_digest") IN ('integer', 'null') AND "trident_digest" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "trident_staging_balances" VALUES(1,1,'68c350b73d944a2692b2ac5a55fdd529',-6195079931617240057,'a0',1,1);
INSERT INTO "trident_staging_balances" VALUES(1,1,'68c350b73d944a2692b2ac5a55fdd529',6033938600125507441,'a7',1,2);
INSERT INTO "trident_staging_balances" VALUES(1,1,'68c350b73d944a2692b2ac5a55fdd529',-7541858378532194989,'a3',1,3);
INSERT INTO "trident_staging_balances" VALUES(1,1,'68c350b73d944a2692b2ac5a55fdd529',-2027721699813716004,'a10',1,4);
INSERT INTO "trident_staging_balances" VALUES(1,1,'68c350b73d944a2692b2ac5a55fdd529',8335767946970830820,'a1',1,1);
INSERT INTO "trident_staging_balances" VALUES(1,1,'68c350b73d944a2692b2ac5a55fdd529',-5000533923590875061,'a8',1,2);
INSERT INTO "trident_staging_balances" VALUES(1,1,'68c350b73d944a2692b2ac5a55fdd529',-3505635866284966862,'a4',1,3);
INSERT INTO "trident_staging_balances" VALUES(1,1,'68c350b73d944a2692b2ac5a55fdd529',-2389841266343986564,'a2',1,1);
INSERT INTO "trident_staging_balances" VALUES(1,1,'68c350b73d944a2692b2ac5a55fdd529',5240736382479091164,'a9',1,2);
INSERT INTO "trident_staging_balances" VALUES(1,1,'68c350b73d944a2692b2ac5a55fdd529',8136869964682861152,'a5',1,3);
INSERT INTO "trident_staging_balances" VALUES(2,2,'c0b56c4317734066b462ecd6d7c3d781',-3780151478945934692,'a6',1,5);
INSERT INTO "trident_staging_balances" VALUES(2,2,'c0b56c4317734066b462ecd6d7c3d781',983634906682073524,'a2',1,6);
INSERT INTO "trident_staging_balances" VALUES(2,2,'c0b56c4317734066b462ecd6d7c3d781',-1642764079214884492,'a9',1,7);
INSERT INTO "trident_staging_balances" VALUES(2,2,'c0b56c4317734066b462ecd6d7c3d781',-3610426258034832456,'a5',1,8);
INSERT INTO "trident_staging_balances" VALUES(2,2,'c0b56c4317734066b462ecd6d7c3d781',3527817603171025647,'a0',1,4);
INSERT INTO "trident_staging_balances" VALUES(2,2,'c0b56c4317734066b462ecd6d7c3d781',-4349370732525316552,'a3',1,6);
INSERT INTO "trident_staging_balances" VALUES(2,2,'c0b56c4317734066b462ecd6d7c3d781',719401509623938548,'a1',1,4);
INSERT INTO "trident_staging_balances" VALUES(2,2,'c0b56c4317734066b462ecd6d7c3d781',2219260782005050486,'a8',1,5);
INSERT INTO "trident_staging_balances" VALUES(2,2,'c0b56c4317734066b462ecd6d7c3d781',-3900951843372501561,'a4',1,6);
INSERT INTO "trident_staging_balances" VALUES(3,3,'1b204ce8aab942b5bd8cb8e6771a2c7b',-2554419340901681974,'a7',2,21);
INSERT INTO "trident_staging_balances" VALUES(3,3,'1b204ce8aab942b5bd8cb8e6771a2c7b',-3906394072940123433,'a3',2,23);
INSERT INTO "trident_staging_balances" VALUES(3,3,'1b204ce8aab942b5bd8cb8e6771a2c7b',5688754412977890302,'a10',2,22);
INSERT INTO "trident_staging_balances" VALUES(3,3,'1b204ce8aab942b5bd8cb8e6771a2c7b',-5260602458176979683,'a6',2,24);
INSERT INTO "trident_staging_balances" VALUES(3,3,'1b204ce8aab942b5bd8cb8e6771a2c7b',7952509401794706283,'a2',1,9);
INSERT INTO "trident_staging_balances" VALUES(3,3,'1b204ce8aab942b5bd8cb8e6771a2c7b',-2143143758250390667,'a0',1,7);
INSERT INTO "trident_staging_balances" VALUES(4,4,'37874c6e5c76426eaaf85a4fe5c92a98',8198553954806355904,'a2',2,29);
INSERT INTO "trident_staging_balances" VALUES(4,4,'37874c6e5c76426eaaf85a4fe5c92a98',-4313050389719726402,'a9',2,28);
INSERT INTO "trident_staging_balances" VALUES(4,4,'37874c6e5c76426eaaf85a4fe5c92a98',-2444303192908694651,'a5',2,30);
INSERT INTO "trident_staging_balances" VALUES(4,4,'37874c6e5c76426eaaf85a4fe5c92a98',8245040692134990691,'a1',2,32);
INSERT INTO "trident_staging_balances" VALUES(4,4,'37874c6e5c76426eaaf85a4fe5c92a98',-5536791991339343692,'a10',1,10);
INSERT INTO "trident_staging_balances" VALUES(4,4,'37874c6e5c76426eaaf85a4fe5c92a98',-5024979467503679639,'a6',1,11);
INSERT INTO "trident_staging_balances" VALUES(5,5,'0afd2415d7ca4bf283e31ead1ae64575',-6070381439940835878,'a8',2,34);
INSERT INTO "trident_staging_balances" VALUES(5,5,'0afd2415d7ca4bf283e31ead1ae64575',8669254159039249294,'a4',2,36);
INSERT INTO "trident_staging_balances" VALUES(5,5,'0afd2415d7ca4bf283e31ead1ae64575',-486643497176446198,'a0',2,38);
INSERT INTO "trident_staging_balances" VALUES(5,5,'0afd2415d7ca4bf283e31ead1ae64575',1493437860916497009,'a7',1,24);
INSERT INTO "trident_staging_balances" VALUES(5,5,'0afd2415d7ca4bf283e31ead1ae64575',6762465235692158020,'a9',1,13);
INSERT INTO "trident_staging_balances" VALUES(5,5,'0afd2415d7ca4bf283e31ead1ae64575',3790099326631327185,'a5',1,14);
CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL);
INSERT INTO "trident_state_fence" VALUES('payments',1,'3e295e098d64b6a70037272bb5e9e321');
CREATE TABLE trident_topology (
        name VARCHAR NOT NULL, incarnation TEXT NOT NULL, spec TEXT NOT NULL, created_at VARCHAR NOT NULL,
        PRIMARY KEY (name));
INSERT INTO "trident_topology" VALUES('payments','54482d2658b2640c','{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"sqlite","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"sqlite","kind":"opaque","table":"totals","database":"own"}}}','2026-11-21T10:57:46.602+00:00');
CREATE UNIQUE INDEX trident_plan_live ON trident_plan (topology, txid) WHERE status = 'live';
CREATE INDEX trident_plan_txid ON trident_plan (topology, txid);
CREATE UNIQUE INDEX "trident_key_balances" ON "balances" ("account");
CREATE UNIQUE INDEX "trident_null_key_balances" ON "balances" (ifnull("account", 0), "account" IS NULL) WHERE "account" IS NULL;
CREATE INDEX "trident_by_txid_trident_staging_balances" ON "trident_staging_balances" (trident_txid);
COMMIT;
