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
INSERT INTO "trident_applied" VALUES('payments','balances','balances','787584a20949d7dd',1,'2f9ca5aa400dd97736c91324efc062ce',5,5,0);
CREATE TABLE trident_commit (
	topology VARCHAR NOT NULL, 
	incarnation VARCHAR NOT NULL, 
	txid BIGINT NOT NULL, 
	attempt BIGINT NOT NULL, 
	tries BIGINT NOT NULL, 
	epoch BIGINT NOT NULL, 
	records BIGINT NOT NULL, 
	dead_letters BIGINT NOT NULL, 
	keys BIGINT NOT NULL, 
	plan_ms BIGINT NOT NULL, 
	process_ms BIGINT NOT NULL, 
	commit_ms BIGINT NOT NULL, 
	done_at VARCHAR NOT NULL, 
	PRIMARY KEY (topology, incarnation, txid)
);
INSERT INTO "trident_commit" VALUES('payments','787584a20949d7dd',1,1,1,1,10,0,20,4,245,18,'2026-11-21T10:48:34.239+00:00');
INSERT INTO "trident_commit" VALUES('payments','787584a20949d7dd',2,2,1,1,10,1,18,2,5,16,'2026-11-21T10:48:34.267+00:00');
INSERT INTO "trident_commit" VALUES('payments','787584a20949d7dd',3,3,1,1,10,0,12,6,13,6,'2026-11-21T10:48:34.294+00:00');
INSERT INTO "trident_commit" VALUES('payments','787584a20949d7dd',4,4,1,1,10,0,12,4,5,6,'2026-11-21T10:48:34.314+00:00');
CREATE TABLE trident_dead_letter (
	topology VARCHAR NOT NULL, 
	incarnation VARCHAR NOT NULL, 
	txid BIGINT NOT NULL, 
	spout VARCHAR NOT NULL, 
	topic VARCHAR NOT NULL, 
	partition BIGINT NOT NULL, 
	record_offset BIGINT NOT NULL, 
	attempt BIGINT NOT NULL, 
	record_timestamp BIGINT, 
	reason TEXT NOT NULL, 
	record_key BLOB, 
	record_value BLOB, 
	pinned_at VARCHAR NOT NULL, 
	PRIMARY KEY (topology, incarnation, txid, spout, topic, partition, record_offset)
);
INSERT INTO "trident_dead_letter" VALUES('payments','787584a20949d7dd',2,'s','t',1,4,2,NULL,'unreadable',NULL,X'7B','2026-11-21T10:48:34.256+00:00');
INSERT INTO "trident_dead_letter" VALUES('payments','787584a20949d7dd',5,'s','t',2,14,5,NULL,'unreadable',NULL,X'7B','2026-11-21T10:48:34.323+00:00');
CREATE TABLE trident_fence (
	topology VARCHAR NOT NULL, 
	number BIGINT NOT NULL, 
	token TEXT NOT NULL, 
	holder TEXT NOT NULL, 
	session_pid BIGINT, 
	session_host TEXT, 
	session_started DOUBLE, 
	raised_at VARCHAR NOT NULL, 
	PRIMARY KEY (topology)
);
INSERT INTO "trident_fence" VALUES('payments',1,'2f9ca5aa400dd97736c91324efc062ce','host-a:2632',2632,'host-a',1795258112.3,'2026-11-21T10:48:33.902+00:00');
CREATE TABLE trident_heartbeat (
	topology VARCHAR NOT NULL, 
	epoch BIGINT NOT NULL, 
	beat_at VARCHAR NOT NULL, 
	lease_seconds DOUBLE NOT NULL, 
	released BOOLEAN NOT NULL, 
	PRIMARY KEY (topology)
);
INSERT INTO "trident_heartbeat" VALUES('payments',1,'2026-11-21T10:48:33.902+00:00',2.0,1);
CREATE TABLE trident_incarnation (
	topology VARCHAR NOT NULL, 
	id VARCHAR NOT NULL, 
	birth_txid BIGINT NOT NULL, 
	created_at VARCHAR NOT NULL, 
	reason TEXT NOT NULL, 
	starts TEXT, 
	status TEXT NOT NULL, 
	PRIMARY KEY (topology, id)
);
INSERT INTO "trident_incarnation" VALUES('payments','787584a20949d7dd',0,'2026-11-21T10:48:33.908+00:00','first start','[{"spout":"s","id":{"topic":"t","partition":0},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":1},"topic_id":"id","start":0},{"spout":"s","id":{"topic":"t","partition":2},"topic_id":"id","start":0}]','open');
CREATE TABLE trident_loss (
	topology VARCHAR NOT NULL, 
	attempt BIGINT NOT NULL, 
	spout VARCHAR NOT NULL, 
	topic VARCHAR NOT NULL, 
	partition BIGINT NOT NULL, 
	start_offset BIGINT NOT NULL, 
	stop_offset BIGINT NOT NULL, 
	incarnation TEXT NOT NULL, 
	txid BIGINT NOT NULL, 
	status TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	recorded_at VARCHAR NOT NULL, 
	PRIMARY KEY (topology, attempt, spout, topic, partition, start_offset)
);
INSERT INTO "trident_loss" VALUES('payments',3,'s','t',0,8,12,'787584a20949d7dd',3,'done','offsets were gone before they could be read','2026-11-21T10:48:34.270+00:00');
CREATE TABLE trident_pin (
	topology VARCHAR NOT NULL, 
	incarnation VARCHAR NOT NULL, 
	txid BIGINT NOT NULL, 
	attempt BIGINT NOT NULL, 
	epoch BIGINT NOT NULL, 
	"plan" TEXT NOT NULL, 
	manifests TEXT NOT NULL, 
	states TEXT NOT NULL, 
	pinned_at VARCHAR NOT NULL, 
	PRIMARY KEY (topology, incarnation, txid)
);
INSERT INTO "trident_pin" VALUES('payments','787584a20949d7dd',1,1,1,'{"txid":1,"attempt":1,"tries":1,"predecessor":0,"batch_time":"2026-11-21T10:48:33.968498Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}],"losses":[]}','[["s",{"edge":5359806001553911403,"id":{"topic":"t","partition":0},"position":4,"digest":{"count":4,"low":8499000763,"high":6020366334,"xor":-2366500656525287339},"size_bytes":40,"newest":null}],["s",{"edge":2875508076331808395,"id":{"topic":"t","partition":1},"position":3,"digest":{"count":3,"low":8198611466,"high":7690257502,"xor":2827710363885277684},"size_bytes":30,"newest":null}],["s",{"edge":3285925651744629689,"id":{"topic":"t","partition":2},"position":3,"digest":{"count":3,"low":7828599485,"high":7739987886,"xor":5776354104709286691},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":10,"writes":[{"state":"balances","write_id":"2d434bd9c5404c3c8ce877ae2c3d838b","digest":{"count":10,"low":24468431956,"high":23542092288,"xor":6104185576600086110}}]},{"state":"totals","rows":10,"writes":[{"state":"totals","write_id":"f3fcebd597ae4b25ba2372dd274c1171","digest":{"count":10,"low":27249498167,"high":23741274444,"xor":-2485861208768377423}}]}]','2026-11-21T10:48:34.222+00:00');
INSERT INTO "trident_pin" VALUES('payments','787584a20949d7dd',2,2,1,'{"txid":2,"attempt":2,"tries":1,"predecessor":1,"batch_time":"2026-11-21T10:48:34.243562Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}],"losses":[]}','[["s",{"edge":5883896078508081494,"id":{"topic":"t","partition":0},"position":8,"digest":{"count":4,"low":9094917827,"high":9777324286,"xor":-2667881469679586609},"size_bytes":40,"newest":null}],["s",{"edge":5893282031115366330,"id":{"topic":"t","partition":1},"position":6,"digest":{"count":3,"low":7829741746,"high":4845278986,"xor":-2371495996774441076},"size_bytes":30,"newest":null}],["s",{"edge":861414485320717795,"id":{"topic":"t","partition":2},"position":6,"digest":{"count":3,"low":7674514060,"high":4127129895,"xor":-3877374842051218062},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":9,"writes":[{"state":"balances","write_id":"4482f59645624d3295d6ae87c3dd9990","digest":{"count":9,"low":21187599182,"high":20794522257,"xor":-3416515058557436822}}]},{"state":"totals","rows":9,"writes":[{"state":"totals","write_id":"eda9102495ae417ea263e736b1e43b4c","digest":{"count":9,"low":17740786604,"high":23245792890,"xor":-5201742051346787896}}]}]','2026-11-21T10:48:34.252+00:00');
INSERT INTO "trident_pin" VALUES('payments','787584a20949d7dd',3,3,1,'{"txid":3,"attempt":3,"tries":1,"predecessor":2,"batch_time":"2026-11-21T10:48:34.269231Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}],"losses":[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]}','[["s",{"edge":7308589170629622434,"id":{"topic":"t","partition":0},"position":16,"digest":{"count":4,"low":7308961176,"high":6819352514,"xor":-971853773564794956},"size_bytes":40,"newest":null}],["s",{"edge":2271090799834479479,"id":{"topic":"t","partition":1},"position":9,"digest":{"count":3,"low":2485935014,"high":10742783727,"xor":-4470561495925423240},"size_bytes":30,"newest":null}],["s",{"edge":3788422609975571185,"id":{"topic":"t","partition":2},"position":9,"digest":{"count":3,"low":5087235535,"high":7737651774,"xor":4416186592842412565},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"34bd32dc0a7d4e72a8f674822478617e","digest":{"count":6,"low":14374852955,"high":13446069827,"xor":1038096335630154749}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"1f2772180224495980027307a2c75ed7","digest":{"count":6,"low":8078788623,"high":17986697057,"xor":-3685616139978358613}}]}]','2026-11-21T10:48:34.288+00:00');
INSERT INTO "trident_pin" VALUES('payments','787584a20949d7dd',4,4,1,'{"txid":4,"attempt":4,"tries":1,"predecessor":3,"batch_time":"2026-11-21T10:48:34.298141Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":16,"stop":20}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}],"losses":[]}','[["s",{"edge":770424259452588759,"id":{"topic":"t","partition":0},"position":20,"digest":{"count":4,"low":6562868148,"high":10381135040,"xor":-7424307704248816890},"size_bytes":40,"newest":null}],["s",{"edge":6776222443012079514,"id":{"topic":"t","partition":1},"position":12,"digest":{"count":3,"low":5509149607,"high":5826329423,"xor":-1319194361734820773},"size_bytes":30,"newest":null}],["s",{"edge":6279731912824463473,"id":{"topic":"t","partition":2},"position":12,"digest":{"count":3,"low":8377343765,"high":4695263004,"xor":8836137819986319609},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"1e36fb04fc62444ba7d6a8dabbb526cf","digest":{"count":6,"low":8742622527,"high":14620925982,"xor":-3775355529609123217}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"09b4766671e64bedb5a2614edb5f0560","digest":{"count":6,"low":11396022586,"high":12511966251,"xor":-4232534762039839942}}]}]','2026-11-21T10:48:34.308+00:00');
INSERT INTO "trident_pin" VALUES('payments','787584a20949d7dd',5,5,1,'{"txid":5,"attempt":5,"tries":1,"predecessor":4,"batch_time":"2026-11-21T10:48:34.316103Z","ranges":[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":20,"stop":24}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":12,"stop":15}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":12,"stop":15}}],"losses":[]}','[["s",{"edge":315027079137245574,"id":{"topic":"t","partition":0},"position":24,"digest":{"count":4,"low":6177203969,"high":9166762821,"xor":7160968364863696639},"size_bytes":40,"newest":null}],["s",{"edge":2356002401397487236,"id":{"topic":"t","partition":1},"position":15,"digest":{"count":3,"low":11050248779,"high":4864124197,"xor":-1872763135543339053},"size_bytes":30,"newest":null}],["s",{"edge":9096776419018395284,"id":{"topic":"t","partition":2},"position":15,"digest":{"count":3,"low":7572195244,"high":8159084010,"xor":4230571151696431190},"size_bytes":30,"newest":null}]]','[{"state":"balances","rows":6,"writes":[{"state":"balances","write_id":"2e2b90abdde743298db45f6d48ecd289","digest":{"count":6,"low":17263814230,"high":13077236631,"xor":-4541625893653088944}}]},{"state":"totals","rows":6,"writes":[{"state":"totals","write_id":"dbb65f68a1ec4cc9b51b957b24287e9f","digest":{"count":6,"low":10178179108,"high":15764343554,"xor":3230962215148601562}}]}]','2026-11-21T10:48:34.323+00:00');
CREATE TABLE trident_plan (
	topology VARCHAR NOT NULL, 
	attempt BIGINT NOT NULL, 
	incarnation TEXT NOT NULL, 
	txid BIGINT NOT NULL, 
	tries BIGINT NOT NULL, 
	epoch BIGINT NOT NULL, 
	predecessor BIGINT NOT NULL, 
	status TEXT NOT NULL, 
	batch_time VARCHAR NOT NULL, 
	created_at VARCHAR NOT NULL, 
	ranges TEXT NOT NULL, 
	losses TEXT NOT NULL, 
	PRIMARY KEY (topology, attempt)
);
INSERT INTO "trident_plan" VALUES('payments',1,'787584a20949d7dd',1,1,1,0,'done','2026-11-21T10:48:33.968498+00:00','2026-11-21T10:48:33.970+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":0,"stop":4}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":0,"stop":3}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":0,"stop":3}}]','[]');
INSERT INTO "trident_plan" VALUES('payments',2,'787584a20949d7dd',2,1,1,1,'done','2026-11-21T10:48:34.243562+00:00','2026-11-21T10:48:34.244+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":4,"stop":8}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":3,"stop":6}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":3,"stop":6}}]','[]');
INSERT INTO "trident_plan" VALUES('payments',3,'787584a20949d7dd',3,1,1,2,'done','2026-11-21T10:48:34.269231+00:00','2026-11-21T10:48:34.269+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":12,"stop":16}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":6,"stop":9}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":6,"stop":9}}]','[{"spout":"s","id":{"topic":"t","partition":0},"start":8,"stop":12,"reason":"offsets were gone before they could be read"}]');
INSERT INTO "trident_plan" VALUES('payments',4,'787584a20949d7dd',4,1,1,3,'done','2026-11-21T10:48:34.298141+00:00','2026-11-21T10:48:34.298+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":16,"stop":20}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":9,"stop":12}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":9,"stop":12}}]','[]');
INSERT INTO "trident_plan" VALUES('payments',5,'787584a20949d7dd',5,1,1,4,'live','2026-11-21T10:48:34.316103+00:00','2026-11-21T10:48:34.316+00:00','[{"spout":"s","range":{"id":{"topic":"t","partition":0},"topic_id":"id","start":20,"stop":24}},{"spout":"s","range":{"id":{"topic":"t","partition":1},"topic_id":"id","start":12,"stop":15}},{"spout":"s","range":{"id":{"topic":"t","partition":2},"topic_id":"id","start":12,"stop":15}}]','[]');
CREATE TABLE trident_progress (
	topology VARCHAR NOT NULL, 
	incarnation TEXT NOT NULL, 
	done BIGINT NOT NULL, 
	done_attempt BIGINT NOT NULL, 
	pinned BIGINT, 
	pinned_attempt BIGINT, 
	last_txid BIGINT NOT NULL, 
	last_attempt BIGINT NOT NULL, 
	reset_to TEXT, 
	PRIMARY KEY (topology)
);
INSERT INTO "trident_progress" VALUES('payments','787584a20949d7dd',4,4,5,5,5,5,NULL);
CREATE TABLE trident_reset (
	topology VARCHAR NOT NULL, 
	incarnation VARCHAR NOT NULL, 
	birth_txid BIGINT NOT NULL, 
	states TEXT NOT NULL, 
	start TEXT, 
	epoch BIGINT NOT NULL, 
	decided_at VARCHAR NOT NULL, 
	finished_at VARCHAR, 
	PRIMARY KEY (topology, incarnation)
);
CREATE TABLE trident_schema (
	version BIGINT NOT NULL, 
	applied_at VARCHAR NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "trident_schema" VALUES(1,'2026-11-21T10:48:33.881+00:00');
CREATE TABLE "trident_staging_balances" ("trident_txid" bigint NOT NULL CHECK (typeof("trident_txid") IN ('integer', 'null') AND "trident_txid" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_attempt" bigint NOT NULL CHECK (typeof("trident_attempt") IN ('integer', 'null') AND "trident_attempt" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "trident_write_id" text NOT NULL, "trident_digest" bigint NOT NULL CHECK (typeof("trident_digest") IN ('integer', 'null') AND "trident_digest" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "account" text, "n" bigint CHECK (typeof("n") IN ('integer', 'null') AND "n" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807), "total" bigint CHECK (typeof("total") IN ('integer', 'null') AND "total" BETWEEN -9223372036854775807 - 1 AND 9223372036854775807));
INSERT INTO "trident_staging_balances" VALUES(1,1,'2d434bd9c5404c3c8ce877ae2c3d838b',2877405510055341292,'a0',1,1);
INSERT INTO "trident_staging_balances" VALUES(1,1,'2d434bd9c5404c3c8ce877ae2c3d838b',-8911039802456534771,'a7',1,2);
INSERT INTO "trident_staging_balances" VALUES(1,1,'2d434bd9c5404c3c8ce877ae2c3d838b',-1314854190390900897,'a3',1,3);
INSERT INTO "trident_staging_balances" VALUES(1,1,'2d434bd9c5404c3c8ce877ae2c3d838b',-5478750783335876278,'a10',1,4);
INSERT INTO "trident_staging_balances" VALUES(1,1,'2d434bd9c5404c3c8ce877ae2c3d838b',5213558267081602616,'a1',1,1);
INSERT INTO "trident_staging_balances" VALUES(1,1,'2d434bd9c5404c3c8ce877ae2c3d838b',7437421448528531820,'a8',1,2);
INSERT INTO "trident_staging_balances" VALUES(1,1,'2d434bd9c5404c3c8ce877ae2c3d838b',-8466416710366229094,'a4',1,3);
INSERT INTO "trident_staging_balances" VALUES(1,1,'2d434bd9c5404c3c8ce877ae2c3d838b',-2205257247745006452,'a2',1,1);
INSERT INTO "trident_staging_balances" VALUES(1,1,'2d434bd9c5404c3c8ce877ae2c3d838b',9153667881781988160,'a9',1,2);
INSERT INTO "trident_staging_balances" VALUES(1,1,'2d434bd9c5404c3c8ce877ae2c3d838b',-7873682334567980888,'a5',1,3);
INSERT INTO "trident_staging_balances" VALUES(2,2,'4482f59645624d3295d6ae87c3dd9990',8126254664287466325,'a6',1,5);
INSERT INTO "trident_staging_balances" VALUES(2,2,'4482f59645624d3295d6ae87c3dd9990',-997970050933499095,'a2',1,6);
INSERT INTO "trident_staging_balances" VALUES(2,2,'4482f59645624d3295d6ae87c3dd9990',-409284757889684780,'a9',1,7);
INSERT INTO "trident_staging_balances" VALUES(2,2,'4482f59645624d3295d6ae87c3dd9990',5748183998041070227,'a5',1,8);
INSERT INTO "trident_staging_balances" VALUES(2,2,'4482f59645624d3295d6ae87c3dd9990',-5144871311027554908,'a0',1,4);
INSERT INTO "trident_staging_balances" VALUES(2,2,'4482f59645624d3295d6ae87c3dd9990',3120044811087768838,'a3',1,6);
INSERT INTO "trident_staging_balances" VALUES(2,2,'4482f59645624d3295d6ae87c3dd9990',7215060047480028130,'a1',1,4);
INSERT INTO "trident_staging_balances" VALUES(2,2,'4482f59645624d3295d6ae87c3dd9990',8732147113090642919,'a8',1,5);
INSERT INTO "trident_staging_balances" VALUES(2,2,'4482f59645624d3295d6ae87c3dd9990',7581996315681813750,'a4',1,6);
INSERT INTO "trident_staging_balances" VALUES(3,3,'34bd32dc0a7d4e72a8f674822478617e',8038096149839148045,'a7',2,21);
INSERT INTO "trident_staging_balances" VALUES(3,3,'34bd32dc0a7d4e72a8f674822478617e',139575954369155269,'a3',2,23);
INSERT INTO "trident_staging_balances" VALUES(3,3,'34bd32dc0a7d4e72a8f674822478617e',-8537256896065864664,'a10',2,22);
INSERT INTO "trident_staging_balances" VALUES(3,3,'34bd32dc0a7d4e72a8f674822478617e',-8155078584513348976,'a6',2,24);
INSERT INTO "trident_staging_balances" VALUES(3,3,'34bd32dc0a7d4e72a8f674822478617e',-4887390955940701521,'a2',1,9);
INSERT INTO "trident_staging_balances" VALUES(3,3,'34bd32dc0a7d4e72a8f674822478617e',-2634491781454363870,'a0',1,7);
INSERT INTO "trident_staging_balances" VALUES(4,4,'1e36fb04fc62444ba7d6a8dabbb526cf',-5618285390606404665,'a2',2,29);
INSERT INTO "trident_staging_balances" VALUES(4,4,'1e36fb04fc62444ba7d6a8dabbb526cf',-4170258904197026781,'a9',2,28);
INSERT INTO "trident_staging_balances" VALUES(4,4,'1e36fb04fc62444ba7d6a8dabbb526cf',-4070664220140556457,'a5',2,30);
INSERT INTO "trident_staging_balances" VALUES(4,4,'1e36fb04fc62444ba7d6a8dabbb526cf',8478198910500681360,'a1',2,32);
INSERT INTO "trident_staging_balances" VALUES(4,4,'1e36fb04fc62444ba7d6a8dabbb526cf',6330472211255123353,'a10',1,10);
INSERT INTO "trident_staging_balances" VALUES(4,4,'1e36fb04fc62444ba7d6a8dabbb526cf',6506704110728835541,'a6',1,11);
INSERT INTO "trident_staging_balances" VALUES(5,5,'2e2b90abdde743298db45f6d48ecd289',-6160937863959486586,'a8',2,34);
INSERT INTO "trident_staging_balances" VALUES(5,5,'2e2b90abdde743298db45f6d48ecd289',-1557361820854264931,'a4',2,36);
INSERT INTO "trident_staging_balances" VALUES(5,5,'2e2b90abdde743298db45f6d48ecd289',3528357307360371428,'a0',2,38);
INSERT INTO "trident_staging_balances" VALUES(5,5,'2e2b90abdde743298db45f6d48ecd289',3082605222879074934,'a7',1,24);
INSERT INTO "trident_staging_balances" VALUES(5,5,'2e2b90abdde743298db45f6d48ecd289',-3439568695378848816,'a9',1,13);
INSERT INTO "trident_staging_balances" VALUES(5,5,'2e2b90abdde743298db45f6d48ecd289',5372977298286533129,'a5',1,14);
CREATE TABLE trident_state_fence (topology text PRIMARY KEY, epoch bigint NOT NULL, token text NOT NULL);
INSERT INTO "trident_state_fence" VALUES('payments',1,'2f9ca5aa400dd97736c91324efc062ce');
CREATE TABLE trident_topology (
	name VARCHAR NOT NULL, 
	incarnation TEXT NOT NULL, 
	spec TEXT NOT NULL, 
	created_at VARCHAR NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "trident_topology" VALUES('payments','787584a20949d7dd','{"name":"payments","spouts":{"s":{"spout":"list"}},"states":{"balances":{"store":"sqlite","kind":"opaque","table":"balances","database":"ledger"},"totals":{"store":"sqlite","kind":"opaque","table":"totals","database":"own"}}}','2026-11-21T10:48:33.907+00:00');
CREATE INDEX trident_plan_txid ON trident_plan (topology, txid);
CREATE UNIQUE INDEX trident_plan_live ON trident_plan (topology, txid) WHERE status = 'live';
CREATE UNIQUE INDEX "trident_key_balances" ON "balances" ("account");
CREATE UNIQUE INDEX "trident_null_key_balances" ON "balances" (ifnull("account", 0), "account" IS NULL) WHERE "account" IS NULL;
CREATE INDEX "trident_by_txid_trident_staging_balances" ON "trident_staging_balances" (trident_txid);
COMMIT;
