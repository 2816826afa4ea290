BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0005');
CREATE TABLE api_sightings (
	id INTEGER NOT NULL, 
	digest BLOB NOT NULL, 
	import_id INTEGER NOT NULL, 
	line INTEGER NOT NULL, 
	recorded_at TEXT NOT NULL, 
	source_id INTEGER NOT NULL, 
	provider TEXT NOT NULL, 
	model TEXT NOT NULL, 
	seen TEXT NOT NULL, 
	"row" TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest), 
	FOREIGN KEY(import_id) REFERENCES price_imports (id)
);
INSERT INTO "api_sightings" VALUES(1,X'87ADD0165C036DA35D5B4829AA570633',1,2,'2026-12-01T04:44:26+00:00',1,'Served','meta-llama/Llama-3.1-8B-Instruct','2026-11-20','{"batch_input_amount": "0.10", "batch_output_amount": null, "cache_write_amount": null, "cached_input_amount": null, "currency": "USD", "effective": "", "elsewhere": [], "hours_utc": "", "input_amount": "0.20", "model": "meta-llama/Llama-3.1-8B-Instruct", "model_name": "llama-8b", "names": [], "notes": "", "output_amount": "0.60", "provider": "Served", "rates": [], "seen": "2026-11-20", "tier_above_tokens": 200000, "tier_input_amount": null, "until": ""}');
INSERT INTO "api_sightings" VALUES(2,X'AD5BD2A7301FB9F05D4FCCABC65A32A5',1,3,'2026-12-01T04:44:26+00:00',1,'Served','café','2026-11-20','{"batch_input_amount": "0.10", "batch_output_amount": null, "cache_write_amount": null, "cached_input_amount": null, "currency": "USD", "effective": "", "elsewhere": [], "hours_utc": "", "input_amount": "0.20", "model": "café", "model_name": "llama-8b", "names": [], "notes": "", "output_amount": "0.60", "provider": "Served", "rates": [], "seen": "2026-11-20", "tier_above_tokens": 200000, "tier_input_amount": null, "until": ""}');
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at TEXT NOT NULL, 
	by_whom TEXT NOT NULL, 
	what TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	of_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	"before" TEXT NOT NULL, 
	"after" TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit" VALUES(1,'2026-12-01T04:44:26+00:00','root','imported','observations','1','vllm.log','','7f66d45d828d5aed126e4c01e96016368d64e1a325bc933c38a1fcc8750f918c','da8fcc70731817b14a6ffc12449cc49162233e84adcb87f22dbcfc7066de3846');
INSERT INTO "audit" VALUES(2,'2026-12-01T04:44:26+00:00','root','imported','observations','2','vllm.log','','7f66d45d828d5aed126e4c01e96016368d64e1a325bc933c38a1fcc8750f918c','3d2989132aab1f3cc5fbcadabc8b420e2e728054a401dcfeeca0f30c88ffe5d1');
INSERT INTO "audit" VALUES(3,'2026-12-01T04:44:26+00:00','root','superseded','observations','obs-a89205572d23d5b2','obs-a89205572d23d5b2','','f1704c9bf12811a52e680f1096463b8502ae610887e7af7dfd708eb1e99a8019','50d595f98c8c911165ce8f3dd4b7a70baf0e66d4caa159af3dbe32c764a21f57');
INSERT INTO "audit" VALUES(4,'2026-12-01T04:44:26+00:00','root','imported','prices','1','mine.csv','','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','c36564e15572a7bb9adb123498ae1751b6ebe6256fe65537fdff7b156203b00e');
INSERT INTO "audit" VALUES(5,'2026-12-01T04:44:26+00:00','root','imported','prices','2','mine.csv','','cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc','b041f918dc146c02fa171502203613779439435192bf1c3731063581ca678f1d');
INSERT INTO "audit" VALUES(6,'2026-12-01T04:44:26+00:00','root','kept','month','dec','opt','','7225482b22af1a5ac1fa4fe662df92a558508296d359822619338b67119c73af','7c6f4c5662c6e47b4273d00526dc47936cfb1612c17e9a9ba408d6591b0f5b5f');
INSERT INTO "audit" VALUES(7,'2026-12-01T04:44:26+00:00','root','kept','quote','q1','Aïda Q-1','','de104a75940d23438cedecfab551b3d44f8fba4bc327141c5b5657dbf9e044c2','8c75b1dda7a3cbce2f74153caaf55667f686a75061aaf92545e8fb658fbbe19b');
INSERT INTO "audit" VALUES(8,'2026-12-01T04:44:26+00:00','root','kept','quote','q2','Aïda Q-1','','d7d3ce578e74019fbf2d995e4d9ec9d2c7c93d8d026ee92236bb14acab8ecbd5','2b58061d3515d3437f618a95ff935f5865e81457d45683a24da18d65187d1ae8');
INSERT INTO "audit" VALUES(9,'2026-12-01T04:44:26+00:00','ana','made','brief','b-06b8r8cf5vd8eh4','Crítica nocturna','','62c029c06c745eb23f14a6c1b5b3c8e1f9b86c4d96d8d23b4abc731aa5bc541c','517ed3b60f4db3ef0a6dde41f54302a79abdb123b26439dff6d6d5f8aafd64ad');
INSERT INTO "audit" VALUES(10,'2026-12-01T04:44:26+00:00','bo','changed','brief','b-06b8r8cf5vd8eh4','Crítica nocturna','62c029c06c745eb23f14a6c1b5b3c8e1f9b86c4d96d8d23b4abc731aa5bc541c','6ef3d0e86c170f43316f681211a6db21eb55f67f3d85fe55190bfc365f24b8fc','97cbe83c482e4978f2b388eff039e04648ce17a599d920f273ea8893f2d51ff1');
INSERT INTO "audit" VALUES(11,'2026-12-01T04:44:26+00:00','ana','made','decision','d-06b8r8chebkrx28','support-chat','','27a5793226946453557b4eda7a25b37f2d903b2fdbf7ecd2167639ba1736db3b','006c7cce5d9da6c13e4e3aa8b9bdb74ce5cd1e3b06fae9abf9f954aa6244ae04');
INSERT INTO "audit" VALUES(12,'2026-12-01T04:44:26+00:00','ana','asked','job','j-06b8r8ck0q59cy7','recommend','','9d46dfd3003d6acd387f68b3dfe47a9b2f1aeffd95ca847a08cadd02d9c460f2','198996df98b636b3be0d3ca346cf23bf65c12356ddb1953d518e1e70342dcffd');
INSERT INTO "audit" VALUES(13,'2026-12-01T04:44:26+00:00','ana','asked','job','j-06b8r8cq7g44kcx','recommend','','ce7550b36eb3d3133fa7785e6380dcdbcf7a208130ae35ef64f42ecae08ef947','dff554908543f9478758ed487754585bdbad96c6d2c775d03805a283f9e2c9b4');
INSERT INTO "audit" VALUES(14,'2026-12-01T04:44:26+00:00','ana','done','job','j-06b8r8cq7g44kcx','recommend','ce7550b36eb3d3133fa7785e6380dcdbcf7a208130ae35ef64f42ecae08ef947','e89ee193164f96497c4de5f7adc879bb3d2c154c398603deccdd434156393e70','a70c0379678d716bca136316f132c36d18bc4ba27e1cfe4cb548e2dcb3d0a001');
INSERT INTO "audit" VALUES(15,'2026-12-01T04:44:26+00:00','ana','made','run','r-06b8r8crvfst2qp','Carga','','fa017dd04d6d7eca17a6672f6abbf927127e8de7e3d99ddba74ebc6f1c7bdb59','602020db762fa7245d089a3a271d9db7f9b2f9f64e60e029694b6fca0a9ad490');
INSERT INTO "audit" VALUES(16,'2026-12-01T04:44:26+00:00','ana','made','token','t-06b8r8cs18r2q42','CI','','2cf8068178380651b264b0dd349528303e638e81a8db9a959d562c28e6d3150b','a075d1d58ba40de6494e958cc92bc14ade179ac68bc9e2533bfd11cd6b7c9ce0');
CREATE TABLE audit_end (
	id INTEGER NOT NULL, 
	last INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "audit_end" VALUES(1,16,'a075d1d58ba40de6494e958cc92bc14ade179ac68bc9e2533bfd11cd6b7c9ce0');
CREATE TABLE bench_runs (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	search TEXT NOT NULL, 
	plan_text TEXT NOT NULL, 
	folder TEXT NOT NULL, 
	state TEXT NOT NULL, 
	job TEXT NOT NULL, 
	summary TEXT, 
	made_at TEXT NOT NULL, 
	made_by TEXT NOT NULL, 
	changed_at TEXT NOT NULL, 
	changed_by TEXT NOT NULL, 
	gone INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "bench_runs" VALUES('r-06b8r8crvfst2qp','Carga','carga','name: plan
','runs/x','planned','',NULL,'2026-12-01T04:44:26+00:00','ana','2026-12-01T04:44:26+00:00','ana',0);
CREATE TABLE brief_versions (
	brief_id TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	text TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	size_bytes INTEGER NOT NULL, 
	at TEXT NOT NULL, 
	by_whom TEXT NOT NULL, 
	gone INTEGER NOT NULL, 
	PRIMARY KEY (brief_id, version), 
	FOREIGN KEY(brief_id) REFERENCES briefs (id)
);
INSERT INTO "brief_versions" VALUES('b-06b8r8cf5vd8eh4',1,'Crítica nocturna','# yaml-language-server: $schema=../src/cabida/brief/brief.schema.json
# Every night 400,000 product reviews are summarised and tagged; the shop reads the result at eight.
name: nightly-reviews
workload: batch-inference
models:
  - id: Qwen/Qwen3-30B-A3B
    weights:
      bf16: {acceptance: 0.965, how: measured 2026-11-02 on 500 reviews}
      fp8:  {acceptance: 0.962, how: measured 2026-11-02 on 500 reviews}
  - id: meta-llama/Llama-3.1-8B-Instruct
    weights:
      fp8:  {acceptance: 0.93, how: measured 2026-11-02 on 500 reviews}
traffic:
  items: 400 k                     # outputs of one run
  window: 6 h                      # input is there at 01:00, results are read at 07:00
  every: day
  input_tokens:  {p50: 420, p95: 1500}
  output_tokens: {p50: 90, p95: 220}
  shared_prefix_tokens: 250
acceptance: {retries: 2, failure_rate: 0.5 %}
limits: {data: EU, needed_by: 2027-01-10, availability: none, risk: medium}   # spot is fine: a lost hour can be redone
budget: {monthly: 2500 EUR}
horizon: 12 months
team: {platform_engineers: 0.2, loaded_cost: 80000 EUR/year}
consider: {capacity: [on-demand, spot, reserved, api], providers: any, accelerators: any}
','batch-inference',1173,'2026-12-01T04:44:26+00:00','ana',0);
INSERT INTO "brief_versions" VALUES('b-06b8r8cf5vd8eh4',2,'Crítica nocturna','# yaml-language-server: $schema=../src/cabida/brief/brief.schema.json
# Every night 400,000 product reviews are summarised and tagged; the shop reads the result at eight.
name: nightly-reviews
workload: batch-inference
models:
  - id: Qwen/Qwen3-30B-A3B
    weights:
      bf16: {acceptance: 0.965, how: measured 2026-11-02 on 500 reviews}
      fp8:  {acceptance: 0.962, how: measured 2026-11-02 on 500 reviews}
  - id: meta-llama/Llama-3.1-8B-Instruct
    weights:
      fp8:  {acceptance: 0.93, how: measured 2026-11-02 on 500 reviews}
traffic:
  items: 400 k                     # outputs of one run
  window: 6 h                      # input is there at 01:00, results are read at 07:00
  every: day
  input_tokens:  {p50: 420, p95: 1500}
  output_tokens: {p50: 90, p95: 220}
  shared_prefix_tokens: 250
acceptance: {retries: 2, failure_rate: 0.5 %}
limits: {data: EU, needed_by: 2027-01-10, availability: none, risk: medium}   # spot is fine: a lost hour can be redone
budget: {monthly: 2500 EUR}
horizon: 12 months
team: {platform_engineers: 0.2, loaded_cost: 80000 EUR/year}
consider: {capacity: [on-demand, spot, reserved, api], providers: any, accelerators: any}
# más
','batch-inference',1180,'2026-12-01T04:44:26+00:00','bo',0);
CREATE TABLE briefs (
	id TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	search TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	size_bytes INTEGER NOT NULL, 
	made_at TEXT NOT NULL, 
	made_by TEXT NOT NULL, 
	changed_at TEXT NOT NULL, 
	changed_by TEXT NOT NULL, 
	gone INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "briefs" VALUES('b-06b8r8cf5vd8eh4',2,'Crítica nocturna','critica nocturna','batch-inference',1180,'2026-12-01T04:44:26+00:00','ana','2026-12-01T04:44:26+00:00','bo',0);
CREATE TABLE decision_texts (
	digest TEXT NOT NULL, 
	size_bytes INTEGER NOT NULL, 
	content BLOB NOT NULL, 
	PRIMARY KEY (digest)
);
INSERT INTO "decision_texts" VALUES('27a5793226946453557b4eda7a25b37f2d903b2fdbf7ecd2167639ba1736db3b',18858,X'789CED9CEB8EDCB89580FFF75310054C769274C9BCE9D68360614F3289319E8931F12C06D818055689D5A5B44A2A4BAC2E7706F31C7E94FC5FBFD81E52A2445DAAFA6A2CB2E386DDAEA228F2F0F05C3E52A27F3E43B36AB5915B31BB40B39558A6897896C8555AA545FE8CCCCEE17A2EB6525FADF6BB5D51AAF96A2394B97028CAABAC1089BE584A91A9742BE769BE96A5CC57D254B9966592AE94B95DA8B45AA7323117445E1D64A9CB7F90B9421CFD85608CFEF6D377A894952CAF6582D6458904BA91A2BC40148A7759BA12152AD6E85526B662CE3C360FF10B94E6E89BD7112A7274FDEAD57768536409BA29F625DA4971A5AB137DF7BBBDAC54056525AAE4AAC8EBF6093F8FA1DF3FFDF80374B52D72B5F18C7899C82FF7E2D28C5BE6A66859A6720DDF7F3E43C7758266C5F21F72A5D26B59357575630A1472B3684BD04CA9B56ABFA1D92EF6E11BF622F3FD97F3BA52AAB2893AD8AF2B9D35BFE0EF2FAD7C0B25DF1B6D6B012F902BDEDF733B5F17683C5B7FAF0729AA45A10739A398067342E60C9BF2AD48E442A8FE953738BEE0F802E3DF63FDDB4EB8361D5D117BC4AB0BD762A5AA45925EC214E82B6C1D0BB2A2CB30E175854A4A6D45587F5EED4B2DD18DAE08F362AE27322FB6692E54614C46AC5672A764B268ACC8DC26F2048C57C96AB12AF6B9EEC7A730BD7049666257416DAD7FEA115D54EC1448A90BFE1B54584F5329F22B282046FBB3D498B598D5DF14CC859970C7103F7E40F4E387D66EFFE75FC60CE11F6386F06F6BC9C458F139DA95C5759A80053E475FBE16655AFDB669BE5242ED2BE3829BA2AA0D0E19A7AA1A29DFD6257AE4992CAD2236D0F9BC7ABF9D477836AAD02982DBE66AC9DB72DAF4BE13A55C8CAE627B354BCDACA91D6D3A39C8F472A38CBCEB5DD4145E5D2F56024249BF54E697696ECAAEB36CDB2B5CF46C8582B93497B74522B5E5CFB6528979A69DFD59CFE5E72FF34A95FB956A6EB07AD5F7BC6E75DC5C5C899D58A5EAA68E52F58CB4FABD6CFA37B3D1B696AEE4024C32EFCC1DCFA9D53008051506BEBCD8568B9D8F1D77BD16D95E8F9B51EED59AD491A03868B573D6156D40957A8AB0DF952D4595D6D620B27409930912F72243DBA58909C32E7D8E875DB2301A751962FAA02EE3892E2332EAD2A781E70FBA2438665DE1AD7D82D31D1F252323BD065E1C0E7A64A0561A3B3FFCCEBD4B2A8FF71E733C1A7118C778A465827BBAB9B5576BAEE08FEF9C8CD1F54C98C7FBFD42FB7114E1EE870C65F0BD88D03B8B50ECD56EAF16AAB89A1480C514540FD3CB881F46310FFD81AD31463D5DCE828853827D3EB4751FC79EBE609BB85DB2B3563CF0BF6D51DE74EED70523E683E5473E6721B72A72A3126501A58C62425B5F807009A95AD85C40A33826602EE0B25153E1B214BB8DBE4648440809300EDAB60BB53131071A8C788C4914B5B76DA448CAA2D8EA46318F8258DB0BF162EA0C645F89652617CB1B655821F2750B611840EFAC89CC961CDEED45AED24C8EA34E93C1E087049D3B93B8D500A22468CBA90F8A6F3EBB8189C5B117349F41DAB6DC8D24C68CCDC7B7CE205645A5161944F34E126B2F57D2C4DC55B1056B92333BC94059E6424C991393F242992CD1B3C4414B69928D9BA1D891F74ECD54901B35DA0D5B2214DFAFA162A9B3093073A6D3CBA8B9E89ECDED60B68149B78B4C2C015F470D321A1E1FA9FEFDD69912E0DC85E1D9452B0F98A89568B6CF53B5D0153B83B2EE0D753038A7F9A11189C298C4D6AC6B07D7354850071C4A7D1F33E6B7865FBBB869C4A7A60A6391A9D484E6A35EDE58D4526AF1CB626915AB5B0B1B2A93EF7740D7C07290BA4BA9DAC1C5728E7D3BFCED1658D0220732191FDD8A12683E075FAB8A720E3424B24C66F32AFDA78495C77C5EBBDF3F4D9C40C0365074753D3771659EA89B9D6C0AB7E2FDDCC0CB3C933938248BB8E5C752BACE7B6C8ACE7B21AD0D0DDC514F26934B13752C121E4476B51007A11BC8F759569716871CE86A93EE7AA5EDB4F7228A6DA921C0DE1D95547BDDC6CFADBF6F77A087766ABA9AEB4CBE9F2A2FF2C5BA2C0C51AE4556C9B366283DE8A62E742F4F433701E806CB9A006E989D44EAC97750FBEB1162DB85687567CAA60D65134E4E61367D22CC26FF4E98FDF5046617F9BC9E8711677FA3E77BBD2FD5A761ED20183121B0C09042B91FDE03424FB37630065F4EC3316BC7ECC9583B26FE88B521DF8723D8A600BFF4336D3F8EB6FD16982C6D538F0743A425A117B3E0CEDDDE42D89CDF42D82158F029C2F671C43F0561875ABF218E42DEA1AE13907CE2B338C0A1EFD3871036300230A1EF33CBA22D61C741C08230E0A4BDE2023670112C398220883C300A580A3963194036F411FA802B408D9678EF07D951E7C79474D04C7907D3303A3BB85E44E23E69A1DCE7715BEE8610E3DBE6E3D34036C19CDC138FA7299BF9F45742D9213B3E52FDFB16CAD65C7C57CA069B0E23DF582EDC47ECBAD2A16C70724A234A18E3BEFE3341D911278CEB752DD4C6C4868A075136E5A729BB1DD8133336795AC6FE7F4DCACC25E5D59094BF957287F8C70FAF38FEDB395073AE5A5C6EE1583F3029D66B002FB4010FA84680BC4DAB6A8A8E6BC37AF3E69B3708D2344A2B443C8A2A241482387DCBE396AF4C9DF6E988BE1B3C056D2BAF71C1D97752C21DA942FB1D52058A3C32D58E37739C7000EA19C7D52940FFBC0FFE7FB70F1ED2F10E311F035C8CEF836FA7D91C52CDA8CF68A24FE2070FEB748ACE4934EE9400338D7AA59CDDA7D7CF743ED173E4917EB78117703A3429CFB7DB538F477348C4D473C07A40E654DB57D8A1F970271EB215F37847E64F05E6240A22467018B2B0456477EB1BF022F6231EF18EBB0760EE87411C611676F777608EA1594EA26EC3F8AE5BDFED8EBB67760B9933960198F330802E18C8E03F84CB99E3C1DC0138EEE0A1EF6C9FBAD1288ABA7D68B0D0EE422F7ED47E6D3E3F0D9A87B08A7A023227A17EB4E7FCD0FB34F9EF4AE954AF401F41E934BC33A51370E798D118C36F02E63941E91C2EF080D130E6106A225BC3A574C2F53E3A87BFB0848CE82320DDEE73DF07D27F5584CC5D424E8684FC9D862AF4FCF54B678FF8C50881CB3DE86601B9E01805FF5128810EC53E4B502605F0ACA6DB3FFD88BECCD26DAA2A2F81EBBF3DC5AAA738151FE1D49644EFC4A963489D20D4119E1E45D32785D21713502A76E9A7E1D1496809C7CCC2E9048F86B1E722D34313F674D66B7D7532D73D3AC504F8C413C37BA41816D25F618AC127B6BC6E4F31F1DDF781088B4019110E019630DC37F1B495601E0701F721D973FD679C6148E0871C2A4541108600058FC9309F13CCC904E3BB09460E134CF4F1C30F6F7E423093F8FE69E57B29934AEF52A33FA72FF4664A13BDBF4211FAF3EB1FCDDBAF949B8B75DA01BBDCA4F9A5799955A7A06FFF0B99D87E2AF594EAFD5C8B37A7FC54168A8E64A127D82D59AE49F079BBE4D4760965E397F848E8FBE36D84983EDD9B832C1E67451AB2715AF471789F85FCE92D133FF2C72F2C46988E1EDC0289879E3FF19EDBE7DD9387EC9ED0E1EE09F120054D267A6B6C1E0F4357074FB6AF026BA3D0B38F33F5DE4838102D00DBEF1E88B2201E8A4659EC754F44697087F71D2749AD16B70B56E0C931001086B6A7B656DA19196CA8300269DD27B47DCEE86EA88C774DDA0D1516FB51C05948EC73677743651EFA2420B17E11CC4C83EFBE1934604BEA430861E0A7DCBEB1F8892893FBD153BCC84730FB95BCC847F8A35EE40BF9DDC912731AFB0C334E18F3E3704C9638629C0594EB281F4461BB33E19225F5890F95388E030C8E691F427E46CB47A3E599996AE8D03C151B1E485901D0680D7CFD62FE134CA5A549992B73BE0AAEB0734C314A0A8D81689DAA0BC3804DEC422203B522F97E055089EAE880EA3887963788D588592228B0106B218E41B376A6C47657832DA91F2BA217DF00BC9DF5C0B82F299990949C73421010235245812A30C05A56F800D0056E92279A6D5FBE79659F2D82EF00DFFAFA11E1403AC2091949C73F7E78AE8FE27040E717B7CB482764F47D6A7559EEF35ABE9A39D14654506EDE37BC92652EB30A2D25C88E9AA08874B2AD271D455E3C10181A1EC96B8485F64E4AC926A4A434327A4CEA135132B9402237E903D5A79A9036EC0AD6071528513FEE35A25746D303C1A0AD91605177A669E6D8A8A8AAFD76E2D4943D09579FC91220A49E477178374F7365D717362601B0C7B6ECB031C1F2FB625924376097A2DA9760A7A9FA0A2971257324C13733FD2418B4D43C249E6D8A0320C4629DE6F532CA903636E7D9F4761E08688D05926DAD492378CBEECB1B1B6B1DA5B7A7F9DC84D2090DF9449F107C66C2705FFA376022E6E09DD67205712407F18150B50D821A9659B1BA424DB327C6F0BCBAAA1FA1DB15C95DC7D04CCE419439AC028F868F6F319F744A64162D5A764E50226E607D99255E5B13565ACD0AA8E9C09A0FCC94139AED71BC7EC084CCB7726B1DC042E584F27B62E270424CADE4CB3DE8E53F2AA457D05AB391D1F1B3AAD983AD23A8D1E12B3E3580345F174F277DA3F67596EEA6BD610F3925AD0C0CCEBA94A3AF7CD17CCF9BA33B6DCA33A72BDBA548DD36D8C9CCD9C47695F2C2841F46D0175A1DAA80D903F5A852E8373B8C229EBF7E890E695EA12FD335D2FBD1682B6E7ABBD5F506F5842318B31808AE3D60D3139E35EB8746742F1E4BBE9C90FCB909EC50BD3E77AB5FEDD00167AE5F46318299D755B4E4C7C4EB62CD49E5C6BCA7DB98DA278BAE846242C297DFBFE1B5EA8A3CBB41870D3836042608A75D90AB9476973A49E996D117C7A4ED563E32AF0602F70A6BA969DC3709972C3AB127A4FEABE9072638BF541BB4DA88FC5256ED06D152AA8384A8BA11D9DAA485A4D8031078AE3D3741780B8DF6CDFAB0A9CFFEFE35AFDF19D226678E58035EB5360799A7390FDB08A7CF9127B27EE75E2A05090901025C0A50AC42360127FBD2B8497D3AD7415B8367ED5B795364581F578791E5AB0D02E8CE7BE79DBD1BB1CDACF7426107D09D46EBF231627735E0DA1A22CBC4953AD93A739194E9B5749FEDA87D99578BC124D685559AC851CD66669D09A9C3D0F45C8C0FCCD7C17CD765B07D69F6C3364AEDAA8B67CF9A24EF15E5E53353B7FA4FF107F29BE51F3A183AB279D526A277FBA2C17CC7D0AD44AB225FA797DE3FAA2EE8D5024C366FCF96BBCD5FCB3C294A570316FBBBF19B6DD726F058179B5C29F5B3F8E8F893BECFADA871C3CEA82A94C8BE6CD8AE6EEE1CD5ABB9FA9B3DB89DE65063BC62D6AF376E67DD9AD995C80EC11C051CAE20DB1BDDCEFAF7B1FA3EFDFBED20597556369CB066CD54E71CD6BDD7D0EE2D0561F37A8333AFB598434D8F06D4A99874670A6F55F178CB19FDAEB6E0BA6D339D26D6FCAE7E4DB19BDF69DD379B85C1231483C958313438A218D657CC78C2BAFDC5EECD935BD5321ADB7028767FAAF139039FB05491626BDFA3EC39DD71AF9BF46ABB783FA5267738EDDEA82E9A5012EF2BA97FB06DA8A5E1E9DD56592F2614653CA5B31CBD88582C758E7E8622F83BF14463D26A9ABDB9F08E56D304A8BE3A38633CC224A623AD44018DC3409F970E2694E3F7953365FC431D59E2EA99518B658F31A4DBD3C9BDF3C9F184F260DBB3272B5A157B7C42B1415FB1476DA13D6F33F4CE27D0275057D52CC86F71CC914A6001985E1FD189BDE62A850FEC8E4FBA6238B036C77F06EA08B16F1FB27C02C58C28E12111AB03859186265C746240EDFF81E15C71B0A33AD8E5B4F99A94E2D07FC4A95791D7DDAEE16C9BBEEF22460FA417ED06AF6938BDCC17C57AED545E67E2B2DDD974F65916EDF2F2EDD92F67FF0B7E401EE6');
CREATE TABLE decisions (
	id TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	name TEXT NOT NULL, 
	search TEXT NOT NULL, 
	brief_id TEXT NOT NULL, 
	brief_version INTEGER NOT NULL, 
	as_of TEXT NOT NULL, 
	language TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	winner TEXT, 
	unit_cost FLOAT, 
	currency TEXT NOT NULL, 
	exit_code INTEGER, 
	made_at TEXT NOT NULL, 
	made_by TEXT NOT NULL, 
	gone INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(digest) REFERENCES decision_texts (digest)
);
INSERT INTO "decisions" VALUES('d-06b8r8chebkrx28','27a5793226946453557b4eda7a25b37f2d903b2fdbf7ecd2167639ba1736db3b','support-chat','support-chat 2 replicas × 2×h100 sxm · fp8 · vllm · reserved 1 year, provider a (paris)','b-06b8r8cf5vd8eh4',2,'2026-11-30','en','realtime-inference','2 replicas × 2×H100 SXM · FP8 · vLLM · reserved 1 year, provider A (Paris)',2.10000002818791975042e-03,'EUR',0,'2026-12-01T04:44:26+00:00','ana',0);
CREATE TABLE imports (
	id INTEGER NOT NULL, 
	file_sha256 TEXT NOT NULL, 
	file_name TEXT NOT NULL, 
	size_bytes INTEGER NOT NULL, 
	format TEXT NOT NULL, 
	lines_count INTEGER NOT NULL, 
	unknown_count INTEGER NOT NULL, 
	tool_version TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "imports" VALUES(1,'7f66d45d828d5aed126e4c01e96016368d64e1a325bc933c38a1fcc8750f918c','vllm.log',2318,'vllm',14,1,'0.1.0','2026-12-01T04:44:26+00:00');
INSERT INTO "imports" VALUES(2,'7f66d45d828d5aed126e4c01e96016368d64e1a325bc933c38a1fcc8750f918c','vllm.log',2318,'vllm',14,1,'0.1.0','2026-12-01T04:44:26+00:00');
CREATE TABLE jobs (
	id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	asked TEXT NOT NULL, 
	asked_digest TEXT NOT NULL, 
	state TEXT NOT NULL, 
	progress TEXT NOT NULL, 
	result TEXT, 
	errors TEXT NOT NULL, 
	made_by TEXT NOT NULL, 
	made_at TEXT NOT NULL, 
	began_at TEXT NOT NULL, 
	ended_at TEXT NOT NULL, 
	"key" TEXT, 
	server TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "jobs" VALUES('j-06b8r8ck0q59cy7','recommend','{"brief_id": "b-06b8r8cf5vd8eh4"}','9d46dfd3003d6acd387f68b3dfe47a9b2f1aeffd95ca847a08cadd02d9c460f2','waiting','{}',NULL,'[]','ana','2026-12-01T04:44:26+00:00','','',NULL,'');
INSERT INTO "jobs" VALUES('j-06b8r8cq7g44kcx','recommend','{"brief_id": "b-06b8r8cf5vd8eh4", "seed": 2}','ce7550b36eb3d3133fa7785e6380dcdbcf7a208130ae35ef64f42ecae08ef947','done','{}','{"decision": "d-x"}','[]','ana','2026-12-01T04:44:26+00:00','2026-12-01T04:44:26+00:00','2026-12-01T04:44:26+00:00','k','s-06b8r8cr740g22q');
CREATE TABLE marks (
	id INTEGER NOT NULL, 
	observation_id TEXT NOT NULL, 
	mark TEXT NOT NULL, 
	why TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(observation_id) REFERENCES observations (id)
);
INSERT INTO "marks" VALUES(1,'obs-a89205572d23d5b2','superseded','obs-3f5c703037d0fb23','2026-12-01T04:44:26+00:00');
CREATE TABLE observations (
	id TEXT NOT NULL, 
	import_id INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	engine TEXT NOT NULL, 
	model TEXT NOT NULL, 
	gpu TEXT NOT NULL, 
	"row" TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(import_id) REFERENCES imports (id)
);
INSERT INTO "observations" VALUES('obs-a89205572d23d5b2',1,0,'memory','vllm','meta-llama/Llama-3.1-8B-Instruct','','{"kind": "memory", "task": "inference", "engine": "vllm", "engine_version": "0.11.0", "model": "meta-llama/Llama-3.1-8B-Instruct", "weights": "bf16", "kv_cache": "bf16", "gpu_memory_gib": 79.19, "gpus": 2, "tp": 2, "pp": 1, "args": {"max_model_len": 32768, "max_num_seqs": 64, "gpu_memory_utilization": 0.92}, "measured": {"fits": true, "weights_gib_per_gpu": 7.5124, "kv_cache_gib_per_gpu": 62.1, "kv_cache_tokens": 1017408, "max_concurrency": 31.05, "cuda_graph_gib": 0.61, "free_gib_at_start": 78.66, "non_torch_gib": 0.75, "activation_peak_gib": 1.97}, "unit_as_printed": "GiB (labelled GB before 0.8)", "quality": "A", "source": "vllm.log", "file_sha256": "7f66d45d828d5aed126e4c01e96016368d64e1a325bc933c38a1fcc8750f918c", "tool_version": "0.1.0"}');
INSERT INTO "observations" VALUES('obs-3f5c703037d0fb23',2,0,'memory','vllm','meta-llama/Llama-3.1-8B-Instruct','h100-sxm-80','{"kind": "memory", "task": "inference", "engine": "vllm", "engine_version": "0.11.0", "model": "meta-llama/Llama-3.1-8B-Instruct", "weights": "bf16", "kv_cache": "bf16", "gpu": "h100-sxm-80", "gpu_memory_gib": 79.19, "gpus": 2, "tp": 2, "pp": 1, "args": {"max_model_len": 32768, "max_num_seqs": 64, "gpu_memory_utilization": 0.92}, "measured": {"fits": true, "weights_gib_per_gpu": 7.5124, "kv_cache_gib_per_gpu": 62.1, "kv_cache_tokens": 1017408, "max_concurrency": 31.05, "cuda_graph_gib": 0.61, "free_gib_at_start": 78.66, "non_torch_gib": 0.75, "activation_peak_gib": 1.97}, "unit_as_printed": "GiB (labelled GB before 0.8)", "quality": "A", "source": "vllm.log", "note": "armario 3 – ñ", "file_sha256": "7f66d45d828d5aed126e4c01e96016368d64e1a325bc933c38a1fcc8750f918c", "tool_version": "0.1.0"}');
CREATE TABLE price_imports (
	id INTEGER NOT NULL, 
	file_sha256 TEXT NOT NULL, 
	file_name TEXT NOT NULL, 
	size_bytes INTEGER NOT NULL, 
	format TEXT NOT NULL, 
	rows_count INTEGER NOT NULL, 
	kept_count INTEGER NOT NULL, 
	known_count INTEGER NOT NULL, 
	unread_count INTEGER NOT NULL, 
	first_seen TEXT NOT NULL, 
	content TEXT NOT NULL, 
	tool_version TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "price_imports" VALUES(1,'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','mine.csv',100,'price list',3,5,0,1,'2026-11-20','359f766a107391ba52ff45b5aeeee860c128b834bfc57acb749c08ec1e30b874','0.1.0','2026-12-01T04:44:26+00:00');
INSERT INTO "price_imports" VALUES(2,'cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc','mine.csv',100,'price list',2,1,1,0,'2026-11-20','be61647140c7e442e3f9d795054d173fb68f20ee3cbad3afeaf95cae8f8ed792','0.1.0','2026-12-01T04:44:26+00:00');
CREATE TABLE price_sightings (
	id INTEGER NOT NULL, 
	digest BLOB NOT NULL, 
	import_id INTEGER NOT NULL, 
	line INTEGER NOT NULL, 
	recorded_at TEXT NOT NULL, 
	source_id INTEGER NOT NULL, 
	field_sources TEXT NOT NULL, 
	name TEXT NOT NULL, 
	provider TEXT NOT NULL, 
	provider_kind TEXT NOT NULL, 
	accelerator TEXT NOT NULL, 
	accelerators_count INTEGER NOT NULL, 
	region TEXT NOT NULL, 
	country TEXT NOT NULL, 
	capacity TEXT NOT NULL, 
	term_months INTEGER NOT NULL, 
	upfront_ratio FLOAT NOT NULL, 
	amount TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	currency TEXT NOT NULL, 
	seen TEXT NOT NULL, 
	effective TEXT NOT NULL, 
	sighting TEXT NOT NULL, 
	sample_count INTEGER NOT NULL, 
	low_amount TEXT, 
	high_amount TEXT, 
	condition TEXT NOT NULL, 
	notes TEXT NOT NULL, 
	form_factor TEXT NOT NULL, 
	fraction_ratio FLOAT NOT NULL, 
	node_shape TEXT NOT NULL, 
	minimum_count INTEGER NOT NULL, 
	includes TEXT NOT NULL, 
	median_amount TEXT, 
	until TEXT NOT NULL, 
	tax_ratio FLOAT NOT NULL, 
	more TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest), 
	FOREIGN KEY(import_id) REFERENCES price_imports (id)
);
INSERT INTO "price_sightings" VALUES(1,X'D708A556D018FE8EB387D8CE21E5FCE1',1,2,'2026-12-01T04:44:26+00:00',1,'{"amount": ["page 3", "https://example.org", "2026-11-20", "quoted"]}','mine','Mine','neocloud','l40s',8,'eu-1','DE','reserved',12,0.25,'1.2300','accelerator_hour','EUR','2026-11-20','2026-11-01','catalogue',7,'1.1','1.5','new','a; b','PCIe',0.5,'g6e',2,'host
egress','1.25','2027-01-31',0.21,'');
INSERT INTO "price_sightings" VALUES(2,X'ED3BE05FCD27F8C8CA6405819CC6B86E',1,3,'2026-12-01T04:44:26+00:00',1,'{"amount": ["page 3", "https://example.org", "2026-11-20", "quoted"]}','mine','Mine','neocloud','l40s',8,'eu-1','DE','reserved',12,0.25,'1.2300','accelerator_hour','EUR','','2026-11-01','catalogue',7,'1.1','1.5','new','a; b','PCIe',0.5,'g6e',2,'host
egress','1.25','2027-01-31',0.21,'');
INSERT INTO "price_sightings" VALUES(3,X'7DD526AC4D9FC62BF9310B934AE4839E',1,4,'2026-12-01T04:44:26+00:00',1,'{"amount": ["page 3", "https://example.org", "2026-11-20", "quoted"]}','mine','Mine','neocloud','l40s',8,'us-1','US','reserved',12,0.25,'0.000001','accelerator_hour','EUR','2026-11-20','2026-11-01','catalogue',7,'1.1','1.5','new','a; b','PCIe',0.5,'g6e',2,'host
egress','1.25','2027-01-31',0.21,'');
INSERT INTO "price_sightings" VALUES(4,X'D0712D4CDEC842C5285D81685EA3A0CE',2,3,'2026-12-01T04:44:26+00:00',3,'{"amount": ["page 3", "https://example.org", "2026-11-20", "quoted"]}','mine','Mine','neocloud','l40s',8,'eu-1','DE','reserved',12,0.25,'9','accelerator_hour','EUR','2026-11-20','2026-11-01','catalogue',7,'1.1','1.5','new','a; b','PCIe',0.5,'g6e',2,'host
egress','1.25','2027-01-31',0.21,'');
CREATE TABLE price_sources (
	id INTEGER NOT NULL, 
	import_id INTEGER NOT NULL, 
	what TEXT NOT NULL, 
	url TEXT NOT NULL, 
	seen TEXT NOT NULL, 
	grade TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(import_id) REFERENCES price_imports (id)
);
INSERT INTO "price_sources" VALUES(1,1,'price list, mine.csv','https://example.org','2026-11-20','quoted');
INSERT INTO "price_sources" VALUES(2,2,'price list, mine.csv','https://example.org','2026-11-20','quoted');
INSERT INTO "price_sources" VALUES(3,2,'otra lista','https://example.org','2026-11-20','quoted');
CREATE TABLE price_unread (
	id INTEGER NOT NULL, 
	import_id INTEGER NOT NULL, 
	line INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	why TEXT NOT NULL, 
	near TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(import_id) REFERENCES price_imports (id)
);
INSERT INTO "price_unread" VALUES(1,1,3,'junk; ''x''','no_price','');
CREATE TABLE quotes (
	id INTEGER NOT NULL, 
	digest BLOB NOT NULL, 
	vendor TEXT NOT NULL, 
	quote_id TEXT NOT NULL, 
	purpose TEXT NOT NULL, 
	effective TEXT NOT NULL, 
	expires TEXT NOT NULL, 
	recorded_at TEXT NOT NULL, 
	file_name TEXT NOT NULL, 
	file_sha256 TEXT NOT NULL, 
	form TEXT NOT NULL, 
	content TEXT NOT NULL, 
	seen TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);
INSERT INTO "quotes" VALUES(1,X'DE104A75940D23438CEDECFAB551B3D44F8FBA4BC327141C5B5657DBF9E044C2','Aïda','Q-1','buy','2026-12-01','','2026-12-01T04:44:26+00:00','q.yaml','93f0282a5e15e3e251b6018b9d339138fcf0dbe75af2c6fc65e10f96b6857352','yaml','# Vendor quote: any kind
# Answer what you can. Leave blank, or write TBD, what isn''t known: a blank is unknown, never zero.
# Money: an amount with its currency, as in 2.10 USD. Write ''included'' or 0 where nothing more is charged.
# Shares: with the sign, as in 99.5 %. Dates: 2026-12-31. Yes or no: yes, no.
# Peak TFLOPS: dense, and in which precision. Memory: what the label says, and what an application can use.
# Unit of the price: gpu_hour, node_hour, gpu_month, node_month, gpu, node ...
# Lines with a quantity and a price go under items.
# Values only: no formulas, no macros, no links to other files.

# ---- Identity and validity

# Quote number. What is the number of this quote?
quote_id: "Q-1"

# Vendor. Who is the vendor?
vendor: "Aïda"

# Vendor''s legal entity. Which legal entity would sign, with its registration and address?
vendor_legal_entity:

# Kind of offer. Is this a rental by use, a reservation, a sale, an API or a cluster? rent, reserve, buy, api, cluster.
purpose: buy

# Issue date. On which date was the quote issued? As 2026-12-31.
issued:

# Valid until. Until which date do these prices hold? As 2026-12-31.
expires:

# Currency. In which currency are all amounts?
currency:

# Taxes. Are taxes (VAT, sales tax) inside the amounts, added to them, or not due? excluded, included, exempt, reverse_charge.
tax_treatment:

# Tax rate. What is the tax rate? With the sign, as 99.5 %.
tax_ratio:

# Exchange-rate clause. Who bears changes of the exchange rate, from which date and rate?
fx_clause:

# Price adjustment clause. May prices change during the term, by which rule?
price_adjustment_clause:

# Most that prices may rise a year. What is the most that prices may rise in a year? With the sign, as 99.5 %.
price_adjustment_limit_ratio_per_year:

# Incoterms. Under which Incoterms and place is it delivered?
incoterms:

# Import duty included. Are import duties and customs inside the price? Yes or no.
import_duty_included:

# Lead time. How many days after the order is it delivered or ready? (days)
lead_time_days:

# Delivery date. On which date is it delivered or ready for use? As 2026-12-31.
delivery_date:

# Penalty for delay. What is owed for each week of delay?
delay_penalty:

# ---- Hardware and topology

# Accelerator. Which exact accelerator is offered (maker, model, form factor, memory)?
accelerator: "l40s"

# Part number. What is the maker''s part or board number?
accelerator_sku:

# Form factor. Is it SXM, PCIe, NVL or OAM? SXM, PCIe, NVL, OAM, other.
form_factor:

# Condition. Is it new, used or refurbished? new, used, refurbished.
condition:

# Number of accelerators. How many accelerators in all?
accelerators_count: 8

# Accelerators per node. How many accelerators does a node have?
accelerators_per_node_count:

# Number of nodes. How many nodes?
nodes_count:

# Memory per accelerator. How much memory does each accelerator have by its label? (GB)
accelerator_memory_gb:

# Usable memory per accelerator. How much of an accelerator''s memory can an application allocate, once your stack is loaded? (GiB)
accelerator_memory_usable_gib:

# Memory bandwidth. What is the memory bandwidth of each accelerator? (GB/s)
memory_bandwidth_gb_per_s:

# Peak TFLOPS. How many TFLOPS, in which precision, dense? (TFLOPS)
tflops:

# Precision of the TFLOPS. In which precision are the TFLOPS given? fp64, fp32, tf32, bf16, fp16, fp8, int8, fp4.
tflops_precision:

# TFLOPS with sparsity. Do the TFLOPS assume structured sparsity? Yes or no.
tflops_sparse:

# Power per accelerator. At which power cap does each accelerator run? (W)
accelerator_power_w:

# NVLink or equal. Are the accelerators of a node joined by NVLink, Infinity Fabric or the like? Yes or no.
nvlink:

# NVLink bandwidth per accelerator. How many GB/s per accelerator, both ways together? (GB/s)
nvlink_gb_per_s:

# Network between nodes. Which network joins the nodes (InfiniBand, RoCE, Ethernet)? infiniband, roce, ethernet, efa, slingshot, none, other.
interconnect:

# Network cards per node. How many network cards for the accelerators does a node have?
nics_per_node_count:

# Speed of a network card. At which speed does each network card run? (Gbit/s)
nic_speed_gbit_per_s:

# Oversubscription. What is the oversubscription between leaf and spine (1 = none)?
oversubscription_factor:

# Rail-optimised network. Is the network rail-optimised? Yes or no.
rail_optimised:

# All nodes under one spine. Are all our nodes under one spine or pod? Yes or no.
same_spine:

# CPU. Which CPU, and how many sockets per node?
cpu:

# CPU cores per node. How many CPU cores per node?
cpu_cores_per_node_count:

# RAM per node. How much RAM per node? (GB)
ram_per_node_gb:

# Local disk per node. How much local NVMe per node? (TB)
local_disk_per_node_tb:

# Cooling. Is it cooled by air or by liquid? air, liquid, immersion.
cooling:

# Cooling of the room. How is the room cooled where it is installed? air, liquid, immersion.
site_cooling:

# Power per node. What is the most power that a node draws? (kW)
node_power_kw:

# Power per rack. What is the most power that a rack draws? (kW)
rack_power_kw:

# ECC on. Is error correction on? Yes or no.
ecc:

# MIG allowed. May we partition accelerators (MIG)? Yes or no.
mig:

# Firmware baseline. Which firmware and BMC versions are delivered, the same on all nodes?
firmware_baseline:

# Burn-in. For how many days is it burnt in before delivery? (days)
burn_in_days:

# Region or data centre. In which region or data centre?
region:

# Country. In which country do machines and data stay?
country:

# ---- Software stack

# Operating system. Which operating system and kernel?
operating_system:

# Driver version. Which driver version, and who updates it?
driver_version:

# CUDA or ROCm version. Which CUDA or ROCm version?
accelerator_stack:

# Orchestration. Which scheduler is offered (Slurm, Kubernetes), managed by whom?
orchestration:

# Images. Which images are offered, and may we bring our own?
images:

# Monitoring. Which metrics do we see (DCGM, network, storage), and how?
monitoring:

# Root access. Do we have root on the nodes? Yes or no.
root_access:

# Licences included. Which software licences are included (NVIDIA AI Enterprise, vGPU ...)?
licences_included:

# Licence per GPU and year. What do licences cost per GPU and year? As 2.10 USD/GPU-year.
licence_price_per_gpu_year:

# Model served. Which model, in which version and precision?
model:

# Model version pinned. Is the version of the model pinned? Yes or no.
model_version_pinned:

# Notice before a model ends. How many days before a model is withdrawn are we told? (days)
deprecation_notice_days:

# Context length. What is the longest context served? (tokens)
context_tokens:

# Requests per minute. How many requests per minute are guaranteed? (1/min)
rate_limit_requests_per_min:

# Tokens per minute. How many tokens per minute are guaranteed? (tokens/min)
rate_limit_tokens_per_min:

# ---- Commercial model

# Unit price. What is the price of one unit, and of which unit? As 2.10 USD.
unit_price:

# Unit of the price. Is the price per GPU, node or rack, and per hour or month? gpu_hour, node_hour, rack_hour, gpu_month, node_month, rack_month, gpu_year, node_year, gpu, node, rack, system, total.
unit:

# Hours of a month. How many hours does a billed month have (720, 730, 744)? (h)
month_hours:

# Quantity. How many units are priced?
quantity:

# Price per month. What does a month cost in all? As 2.10 USD/month.
monthly_price:

# Total price. What is the total, and what does it cover? As 2.10 USD.
total_price:

# List price of a unit. What is the list price? As 2.10 USD.
list_unit_price:

# Discount. Which discount is applied, and on what? With the sign, as 99.5 %.
discount_ratio:

# Term. For how many months is it? (months)
term_months:

# Minimum term. What is the shortest term? (months)
minimum_term_months:

# Minimum quantity. What is the smallest quantity?
minimum_quantity:

# Minimum spend per month. What is the least that is billed a month, used or not? As 2.10 USD/month.
minimum_commit_per_month:

# Total commitment. What do we commit to in all, over the whole term? As 2.10 USD.
total_commit:

# Billing step. Is use billed by the second, minute, hour or month? (s)
billing_granularity_s:

# Start of billing. From when is it billed: signature, delivery or signed acceptance? signature, delivery, acceptance, first_use.
billing_start:

# Paid upfront. Which part is paid before delivery? With the sign, as 99.5 %.
upfront_ratio:

# Payment terms. Within how many days are invoices paid? (days)
payment_terms_days:

# Ramp-up. In which steps does capacity come and billing grow?
ramp_schedule:

# Renews by itself. Does the contract renew by itself? Yes or no.
auto_renewal:

# Notice to stop renewal. How many days before the end must we say that we don''t renew? (days)
renewal_notice_days:

# Fee to leave early. What is owed to leave before the end? As 2.10 USD.
early_exit_fee:

# Share of the rest owed to leave early. Which share of what remains is owed to leave before the end? With the sign, as 99.5 %.
early_exit_fee_ratio:

# Right to resell or sublet. May we resell or sublet what we don''t use? Yes or no.
resale_right:

# Right to swap to the next generation. May we swap to newer hardware within the term, on which terms? Yes or no.
swap_right:

# Price match. Is a lower price to others, or of others, matched? Yes or no.
price_match:

# Price of more units. At which price can we add units during the term? As 2.10 USD.
expansion_unit_price:

# Price beyond the commitment. What does use beyond the commitment cost? As 2.10 USD.
overage_unit_price:

# Egress per GB. What does data out cost per GB? As 2.10 USD/GB.
egress_price_per_gb:

# Ingress per GB. What does data in cost per GB? As 2.10 USD/GB.
ingress_price_per_gb:

# Storage per GB and month. What does shared storage cost per GB and month? As 2.10 USD/GB-month.
storage_price_per_gb_month:

# Public address per month. What does a public address cost? As 2.10 USD/month.
public_ip_price_per_month:

# Billed while idle. Is a stopped or idle machine billed? Yes or no.
idle_billing:

# Trial. For how many days can we try it free of charge? (days)
trial_days:

# Nodes of the trial. On how many nodes can we try it?
trial_nodes_count:

# Credits granted. Which credits are granted, and until when? As 2.10 USD.
credits:

# Setup fee. What is charged once for setup or installation? As 2.10 USD.
setup_fee:

# Support per month. What does support cost a month? As 2.10 USD/month.
support_fee_per_month:

# Inside the price. What is inside the price (storage, egress, network, support)? Apart by semicolons.
includes:

# Million input tokens. What does a million input tokens cost? As 2.10 USD/million tokens.
input_price_per_million_tokens:

# Million output tokens. What does a million output tokens cost? As 2.10 USD/million tokens.
output_price_per_million_tokens:

# Million cached input tokens. What does a million cached input tokens cost? As 2.10 USD/million tokens.
cached_input_price_per_million_tokens:

# Batch discount. Which discount has batch processing? With the sign, as 99.5 %.
batch_discount_ratio:

# ---- Security and governance

# Isolation between tenants. How are tenants kept apart: bare metal, virtual machines or containers? bare_metal, vm, container, shared.
isolation:

# SOC 2 report. Is there a SOC 2 report, of which type and date? none, type_1, type_2.
soc2:

# ISO 27001. Is the service certified to ISO 27001, with which scope? Yes or no.
iso_27001:

# Firmware attestation. Is firmware attested between tenants? Yes or no.
firmware_attestation:

# Isolation in the network. Are tenants kept apart in the network (PKeys, VXLAN)? Yes or no.
fabric_isolation:

# Who holds the keys. Who holds the encryption keys? provider, customer, hsm.
key_management:

# Encryption at rest. Is data encrypted at rest? Yes or no.
encryption_at_rest:

# Certificate of deletion. Do we get a certificate of deletion at the end? Yes or no.
deletion_certificate:

# Where data stay. In which countries may our data be stored and processed?
data_residency:

# Data processing agreement. Will you sign a data processing agreement? Yes or no.
dpa:

# Sub-processors. Who else processes our data?
sub_processors:

# Our data used for training. Are our prompts or answers used to train or improve anything? Yes or no.
data_used_for_training:

# Retention of prompts and answers. For how many days are prompts and answers kept (0 = not at all)? (days)
retention_days:

# Right to audit. May we, or somebody for us, audit you? Yes or no.
audit_right:

# ---- Reliability and service level

# Uptime promised. Which uptime is promised? With the sign, as 99.5 %.
uptime_ratio:

# Uptime of what. Is it the uptime of a node, the cluster, the service or the job? node, cluster, service, job.
uptime_scope:

# Useful work promised. Which share of job time is useful work (goodput)? With the sign, as 99.5 %.
goodput_ratio:

# Not counted in the uptime. What doesn''t count as downtime?
sla_exclusions:

# Credits for missed uptime. Which share of the month''s fee is credited below which uptime? As < 99.5 %: 10 %; < 99 %: 25 %.
credit_ladder:

# Most that is credited in a month. What is the most that is credited in a month? With the sign, as 99.5 %.
credit_cap_ratio:

# Time to replace a node. Within how many hours is a failed node replaced? (h)
node_replacement_hours:

# Replacement by ourselves. Can we replace a node ourselves, through an API? Yes or no.
replacement_api:

# Hot spares. How many spare nodes are kept ready?
hot_spares_count:

# Spares under the same spine. Are the spare nodes under the same spine as ours? Yes or no.
hot_spares_same_spine:

# Failed nodes don''t come back. How are we kept from getting the same failed node back (serial numbers)? Yes or no.
returned_node_protection:

# Notice of maintenance. How many days before maintenance are we told? (days)
maintenance_notice_days:

# Support hours. At which hours is support there?
support_hours:

# Response to the gravest case. Within how many minutes do you respond to the gravest case? (min)
support_response_minutes:

# Named engineer. Do we have a named engineer? Yes or no.
named_engineer:

# Missed months that let us leave. After how many months of missed uptime may we leave without a fee? (months)
sla_exit_months:

# ---- Acceptance

# Acceptance test. Which tests must pass before we accept?
acceptance_test:

# Days to accept. How many days do we have to test before acceptance? (days)
acceptance_days:

# DCGM level passed. Which level of DCGM diagnostics passes on every node?
dcgm_level:

# Dense TFLOPS guaranteed. How many dense TFLOPS per accelerator do you guarantee in a matrix product? (TFLOPS)
gemm_tflops:

# All-reduce bandwidth guaranteed. Which bus bandwidth of NCCL all-reduce do you guarantee on all nodes? (GB/s)
allreduce_gb_per_s:

# Soak test. For how many hours does the soak test run? (h)
soak_hours:

# Who pays for failed acceptance. Who pays for the time while acceptance fails? vendor, customer, shared.
failed_acceptance_payer:

# ---- Storage

# Kind of storage. Which shared storage (Lustre, Weka, VAST, NFS)?
storage_kind:

# Usable storage. How much shared storage is usable? (TB)
storage_usable_tb:

# Raw storage. How much raw capacity does the shared storage have? (TB)
storage_raw_tb:

# Storage operations. How many operations a second? (1/s)
storage_iops:

# Storage read speed. How fast is the shared storage read? (GB/s)
storage_read_gb_per_s:

# Storage write speed. How fast are checkpoints written to the shared storage? (GB/s)
storage_write_gb_per_s:

# Snapshots. Are there snapshots? Yes or no.
snapshots:

# Migration help. Which tools or people help us to move data in and out?
migration_tooling:

# Overlap when moving region. For how many days are both places free of double charge when we move? (days)
region_move_overlap_days:

# ---- Exit and finance

# Warranty. How many months of warranty, and of what? (months)
warranty_months:

# Replacement sent in advance. Is a replacement sent before the failed part comes back? Yes or no.
advance_replacement:

# Support contract per year. What does the support contract cost a year? As 2.10 USD/year.
support_price_per_year:

# Installation included. Is installation inside the price? Yes or no.
installation_included:

# Licences transferable. Do licences go with the hardware when we sell it? Yes or no.
licences_transferable:

# Buy-back share. For which share of the price do you buy it back? With the sign, as 99.5 %.
buy_back_ratio:

# Buy-back after. After how many months? (months)
buy_back_months:

# Export limits. Do export rules limit where it may be used or sold?
export_control:

# Interest a year. At which yearly rate is it financed? With the sign, as 99.5 %.
financing_rate_per_year:

# Financed over. Over how many months? (months)
financing_months:

# Days to take our data out. For how many days after the end can we take our data out? (days)
data_export_days:

# Governing law. Which law and courts govern the contract?
governing_law:

# Notes. Is there anything else to know?
notes:

# ---- Lines of the quote
items:
#   - what:
#     unit:
#     quantity:
#     unit_price:
#     total:
','{"seen": [{"field": "vendor", "place": "q.yaml:1", "words": "Aïda", "grade": "stated"}, {"field": "quote_id", "place": "q.yaml:2", "words": "Q-1", "grade": "stated"}, {"field": "purpose", "place": "q.yaml:3", "words": "buy", "grade": "stated"}, {"field": "accelerator", "place": "q.yaml:4", "words": "l40s", "grade": "stated"}, {"field": "accelerators_count", "place": "q.yaml:5", "words": "8", "grade": "stated"}], "left": []}');
INSERT INTO "quotes" VALUES(2,X'D7D3CE578E74019FBF2D995E4D9EC9D2C7C93D8D026EE92236BB14ACAB8ECBD5','Aïda','Q-1','buy','2026-12-01','','2026-12-01T04:44:26+00:00','q.yaml','1eae456cdc0e9c5641716b7181530ca7c836496e0f3fda6ff7d0b5d22492736e','yaml','# Vendor quote: any kind
# Answer what you can. Leave blank, or write TBD, what isn''t known: a blank is unknown, never zero.
# Money: an amount with its currency, as in 2.10 USD. Write ''included'' or 0 where nothing more is charged.
# Shares: with the sign, as in 99.5 %. Dates: 2026-12-31. Yes or no: yes, no.
# Peak TFLOPS: dense, and in which precision. Memory: what the label says, and what an application can use.
# Unit of the price: gpu_hour, node_hour, gpu_month, node_month, gpu, node ...
# Lines with a quantity and a price go under items.
# Values only: no formulas, no macros, no links to other files.

# ---- Identity and validity

# Quote number. What is the number of this quote?
quote_id: "Q-1"

# Vendor. Who is the vendor?
vendor: "Aïda"

# Vendor''s legal entity. Which legal entity would sign, with its registration and address?
vendor_legal_entity:

# Kind of offer. Is this a rental by use, a reservation, a sale, an API or a cluster? rent, reserve, buy, api, cluster.
purpose: buy

# Issue date. On which date was the quote issued? As 2026-12-31.
issued:

# Valid until. Until which date do these prices hold? As 2026-12-31.
expires:

# Currency. In which currency are all amounts?
currency:

# Taxes. Are taxes (VAT, sales tax) inside the amounts, added to them, or not due? excluded, included, exempt, reverse_charge.
tax_treatment:

# Tax rate. What is the tax rate? With the sign, as 99.5 %.
tax_ratio:

# Exchange-rate clause. Who bears changes of the exchange rate, from which date and rate?
fx_clause:

# Price adjustment clause. May prices change during the term, by which rule?
price_adjustment_clause:

# Most that prices may rise a year. What is the most that prices may rise in a year? With the sign, as 99.5 %.
price_adjustment_limit_ratio_per_year:

# Incoterms. Under which Incoterms and place is it delivered?
incoterms:

# Import duty included. Are import duties and customs inside the price? Yes or no.
import_duty_included:

# Lead time. How many days after the order is it delivered or ready? (days)
lead_time_days:

# Delivery date. On which date is it delivered or ready for use? As 2026-12-31.
delivery_date:

# Penalty for delay. What is owed for each week of delay?
delay_penalty:

# ---- Hardware and topology

# Accelerator. Which exact accelerator is offered (maker, model, form factor, memory)?
accelerator: "l40s"

# Part number. What is the maker''s part or board number?
accelerator_sku:

# Form factor. Is it SXM, PCIe, NVL or OAM? SXM, PCIe, NVL, OAM, other.
form_factor:

# Condition. Is it new, used or refurbished? new, used, refurbished.
condition:

# Number of accelerators. How many accelerators in all?
accelerators_count: 16

# Accelerators per node. How many accelerators does a node have?
accelerators_per_node_count:

# Number of nodes. How many nodes?
nodes_count:

# Memory per accelerator. How much memory does each accelerator have by its label? (GB)
accelerator_memory_gb:

# Usable memory per accelerator. How much of an accelerator''s memory can an application allocate, once your stack is loaded? (GiB)
accelerator_memory_usable_gib:

# Memory bandwidth. What is the memory bandwidth of each accelerator? (GB/s)
memory_bandwidth_gb_per_s:

# Peak TFLOPS. How many TFLOPS, in which precision, dense? (TFLOPS)
tflops:

# Precision of the TFLOPS. In which precision are the TFLOPS given? fp64, fp32, tf32, bf16, fp16, fp8, int8, fp4.
tflops_precision:

# TFLOPS with sparsity. Do the TFLOPS assume structured sparsity? Yes or no.
tflops_sparse:

# Power per accelerator. At which power cap does each accelerator run? (W)
accelerator_power_w:

# NVLink or equal. Are the accelerators of a node joined by NVLink, Infinity Fabric or the like? Yes or no.
nvlink:

# NVLink bandwidth per accelerator. How many GB/s per accelerator, both ways together? (GB/s)
nvlink_gb_per_s:

# Network between nodes. Which network joins the nodes (InfiniBand, RoCE, Ethernet)? infiniband, roce, ethernet, efa, slingshot, none, other.
interconnect:

# Network cards per node. How many network cards for the accelerators does a node have?
nics_per_node_count:

# Speed of a network card. At which speed does each network card run? (Gbit/s)
nic_speed_gbit_per_s:

# Oversubscription. What is the oversubscription between leaf and spine (1 = none)?
oversubscription_factor:

# Rail-optimised network. Is the network rail-optimised? Yes or no.
rail_optimised:

# All nodes under one spine. Are all our nodes under one spine or pod? Yes or no.
same_spine:

# CPU. Which CPU, and how many sockets per node?
cpu:

# CPU cores per node. How many CPU cores per node?
cpu_cores_per_node_count:

# RAM per node. How much RAM per node? (GB)
ram_per_node_gb:

# Local disk per node. How much local NVMe per node? (TB)
local_disk_per_node_tb:

# Cooling. Is it cooled by air or by liquid? air, liquid, immersion.
cooling:

# Cooling of the room. How is the room cooled where it is installed? air, liquid, immersion.
site_cooling:

# Power per node. What is the most power that a node draws? (kW)
node_power_kw:

# Power per rack. What is the most power that a rack draws? (kW)
rack_power_kw:

# ECC on. Is error correction on? Yes or no.
ecc:

# MIG allowed. May we partition accelerators (MIG)? Yes or no.
mig:

# Firmware baseline. Which firmware and BMC versions are delivered, the same on all nodes?
firmware_baseline:

# Burn-in. For how many days is it burnt in before delivery? (days)
burn_in_days:

# Region or data centre. In which region or data centre?
region:

# Country. In which country do machines and data stay?
country:

# ---- Software stack

# Operating system. Which operating system and kernel?
operating_system:

# Driver version. Which driver version, and who updates it?
driver_version:

# CUDA or ROCm version. Which CUDA or ROCm version?
accelerator_stack:

# Orchestration. Which scheduler is offered (Slurm, Kubernetes), managed by whom?
orchestration:

# Images. Which images are offered, and may we bring our own?
images:

# Monitoring. Which metrics do we see (DCGM, network, storage), and how?
monitoring:

# Root access. Do we have root on the nodes? Yes or no.
root_access:

# Licences included. Which software licences are included (NVIDIA AI Enterprise, vGPU ...)?
licences_included:

# Licence per GPU and year. What do licences cost per GPU and year? As 2.10 USD/GPU-year.
licence_price_per_gpu_year:

# Model served. Which model, in which version and precision?
model:

# Model version pinned. Is the version of the model pinned? Yes or no.
model_version_pinned:

# Notice before a model ends. How many days before a model is withdrawn are we told? (days)
deprecation_notice_days:

# Context length. What is the longest context served? (tokens)
context_tokens:

# Requests per minute. How many requests per minute are guaranteed? (1/min)
rate_limit_requests_per_min:

# Tokens per minute. How many tokens per minute are guaranteed? (tokens/min)
rate_limit_tokens_per_min:

# ---- Commercial model

# Unit price. What is the price of one unit, and of which unit? As 2.10 USD.
unit_price:

# Unit of the price. Is the price per GPU, node or rack, and per hour or month? gpu_hour, node_hour, rack_hour, gpu_month, node_month, rack_month, gpu_year, node_year, gpu, node, rack, system, total.
unit:

# Hours of a month. How many hours does a billed month have (720, 730, 744)? (h)
month_hours:

# Quantity. How many units are priced?
quantity:

# Price per month. What does a month cost in all? As 2.10 USD/month.
monthly_price:

# Total price. What is the total, and what does it cover? As 2.10 USD.
total_price:

# List price of a unit. What is the list price? As 2.10 USD.
list_unit_price:

# Discount. Which discount is applied, and on what? With the sign, as 99.5 %.
discount_ratio:

# Term. For how many months is it? (months)
term_months:

# Minimum term. What is the shortest term? (months)
minimum_term_months:

# Minimum quantity. What is the smallest quantity?
minimum_quantity:

# Minimum spend per month. What is the least that is billed a month, used or not? As 2.10 USD/month.
minimum_commit_per_month:

# Total commitment. What do we commit to in all, over the whole term? As 2.10 USD.
total_commit:

# Billing step. Is use billed by the second, minute, hour or month? (s)
billing_granularity_s:

# Start of billing. From when is it billed: signature, delivery or signed acceptance? signature, delivery, acceptance, first_use.
billing_start:

# Paid upfront. Which part is paid before delivery? With the sign, as 99.5 %.
upfront_ratio:

# Payment terms. Within how many days are invoices paid? (days)
payment_terms_days:

# Ramp-up. In which steps does capacity come and billing grow?
ramp_schedule:

# Renews by itself. Does the contract renew by itself? Yes or no.
auto_renewal:

# Notice to stop renewal. How many days before the end must we say that we don''t renew? (days)
renewal_notice_days:

# Fee to leave early. What is owed to leave before the end? As 2.10 USD.
early_exit_fee:

# Share of the rest owed to leave early. Which share of what remains is owed to leave before the end? With the sign, as 99.5 %.
early_exit_fee_ratio:

# Right to resell or sublet. May we resell or sublet what we don''t use? Yes or no.
resale_right:

# Right to swap to the next generation. May we swap to newer hardware within the term, on which terms? Yes or no.
swap_right:

# Price match. Is a lower price to others, or of others, matched? Yes or no.
price_match:

# Price of more units. At which price can we add units during the term? As 2.10 USD.
expansion_unit_price:

# Price beyond the commitment. What does use beyond the commitment cost? As 2.10 USD.
overage_unit_price:

# Egress per GB. What does data out cost per GB? As 2.10 USD/GB.
egress_price_per_gb:

# Ingress per GB. What does data in cost per GB? As 2.10 USD/GB.
ingress_price_per_gb:

# Storage per GB and month. What does shared storage cost per GB and month? As 2.10 USD/GB-month.
storage_price_per_gb_month:

# Public address per month. What does a public address cost? As 2.10 USD/month.
public_ip_price_per_month:

# Billed while idle. Is a stopped or idle machine billed? Yes or no.
idle_billing:

# Trial. For how many days can we try it free of charge? (days)
trial_days:

# Nodes of the trial. On how many nodes can we try it?
trial_nodes_count:

# Credits granted. Which credits are granted, and until when? As 2.10 USD.
credits:

# Setup fee. What is charged once for setup or installation? As 2.10 USD.
setup_fee:

# Support per month. What does support cost a month? As 2.10 USD/month.
support_fee_per_month:

# Inside the price. What is inside the price (storage, egress, network, support)? Apart by semicolons.
includes:

# Million input tokens. What does a million input tokens cost? As 2.10 USD/million tokens.
input_price_per_million_tokens:

# Million output tokens. What does a million output tokens cost? As 2.10 USD/million tokens.
output_price_per_million_tokens:

# Million cached input tokens. What does a million cached input tokens cost? As 2.10 USD/million tokens.
cached_input_price_per_million_tokens:

# Batch discount. Which discount has batch processing? With the sign, as 99.5 %.
batch_discount_ratio:

# ---- Security and governance

# Isolation between tenants. How are tenants kept apart: bare metal, virtual machines or containers? bare_metal, vm, container, shared.
isolation:

# SOC 2 report. Is there a SOC 2 report, of which type and date? none, type_1, type_2.
soc2:

# ISO 27001. Is the service certified to ISO 27001, with which scope? Yes or no.
iso_27001:

# Firmware attestation. Is firmware attested between tenants? Yes or no.
firmware_attestation:

# Isolation in the network. Are tenants kept apart in the network (PKeys, VXLAN)? Yes or no.
fabric_isolation:

# Who holds the keys. Who holds the encryption keys? provider, customer, hsm.
key_management:

# Encryption at rest. Is data encrypted at rest? Yes or no.
encryption_at_rest:

# Certificate of deletion. Do we get a certificate of deletion at the end? Yes or no.
deletion_certificate:

# Where data stay. In which countries may our data be stored and processed?
data_residency:

# Data processing agreement. Will you sign a data processing agreement? Yes or no.
dpa:

# Sub-processors. Who else processes our data?
sub_processors:

# Our data used for training. Are our prompts or answers used to train or improve anything? Yes or no.
data_used_for_training:

# Retention of prompts and answers. For how many days are prompts and answers kept (0 = not at all)? (days)
retention_days:

# Right to audit. May we, or somebody for us, audit you? Yes or no.
audit_right:

# ---- Reliability and service level

# Uptime promised. Which uptime is promised? With the sign, as 99.5 %.
uptime_ratio:

# Uptime of what. Is it the uptime of a node, the cluster, the service or the job? node, cluster, service, job.
uptime_scope:

# Useful work promised. Which share of job time is useful work (goodput)? With the sign, as 99.5 %.
goodput_ratio:

# Not counted in the uptime. What doesn''t count as downtime?
sla_exclusions:

# Credits for missed uptime. Which share of the month''s fee is credited below which uptime? As < 99.5 %: 10 %; < 99 %: 25 %.
credit_ladder:

# Most that is credited in a month. What is the most that is credited in a month? With the sign, as 99.5 %.
credit_cap_ratio:

# Time to replace a node. Within how many hours is a failed node replaced? (h)
node_replacement_hours:

# Replacement by ourselves. Can we replace a node ourselves, through an API? Yes or no.
replacement_api:

# Hot spares. How many spare nodes are kept ready?
hot_spares_count:

# Spares under the same spine. Are the spare nodes under the same spine as ours? Yes or no.
hot_spares_same_spine:

# Failed nodes don''t come back. How are we kept from getting the same failed node back (serial numbers)? Yes or no.
returned_node_protection:

# Notice of maintenance. How many days before maintenance are we told? (days)
maintenance_notice_days:

# Support hours. At which hours is support there?
support_hours:

# Response to the gravest case. Within how many minutes do you respond to the gravest case? (min)
support_response_minutes:

# Named engineer. Do we have a named engineer? Yes or no.
named_engineer:

# Missed months that let us leave. After how many months of missed uptime may we leave without a fee? (months)
sla_exit_months:

# ---- Acceptance

# Acceptance test. Which tests must pass before we accept?
acceptance_test:

# Days to accept. How many days do we have to test before acceptance? (days)
acceptance_days:

# DCGM level passed. Which level of DCGM diagnostics passes on every node?
dcgm_level:

# Dense TFLOPS guaranteed. How many dense TFLOPS per accelerator do you guarantee in a matrix product? (TFLOPS)
gemm_tflops:

# All-reduce bandwidth guaranteed. Which bus bandwidth of NCCL all-reduce do you guarantee on all nodes? (GB/s)
allreduce_gb_per_s:

# Soak test. For how many hours does the soak test run? (h)
soak_hours:

# Who pays for failed acceptance. Who pays for the time while acceptance fails? vendor, customer, shared.
failed_acceptance_payer:

# ---- Storage

# Kind of storage. Which shared storage (Lustre, Weka, VAST, NFS)?
storage_kind:

# Usable storage. How much shared storage is usable? (TB)
storage_usable_tb:

# Raw storage. How much raw capacity does the shared storage have? (TB)
storage_raw_tb:

# Storage operations. How many operations a second? (1/s)
storage_iops:

# Storage read speed. How fast is the shared storage read? (GB/s)
storage_read_gb_per_s:

# Storage write speed. How fast are checkpoints written to the shared storage? (GB/s)
storage_write_gb_per_s:

# Snapshots. Are there snapshots? Yes or no.
snapshots:

# Migration help. Which tools or people help us to move data in and out?
migration_tooling:

# Overlap when moving region. For how many days are both places free of double charge when we move? (days)
region_move_overlap_days:

# ---- Exit and finance

# Warranty. How many months of warranty, and of what? (months)
warranty_months:

# Replacement sent in advance. Is a replacement sent before the failed part comes back? Yes or no.
advance_replacement:

# Support contract per year. What does the support contract cost a year? As 2.10 USD/year.
support_price_per_year:

# Installation included. Is installation inside the price? Yes or no.
installation_included:

# Licences transferable. Do licences go with the hardware when we sell it? Yes or no.
licences_transferable:

# Buy-back share. For which share of the price do you buy it back? With the sign, as 99.5 %.
buy_back_ratio:

# Buy-back after. After how many months? (months)
buy_back_months:

# Export limits. Do export rules limit where it may be used or sold?
export_control:

# Interest a year. At which yearly rate is it financed? With the sign, as 99.5 %.
financing_rate_per_year:

# Financed over. Over how many months? (months)
financing_months:

# Days to take our data out. For how many days after the end can we take our data out? (days)
data_export_days:

# Governing law. Which law and courts govern the contract?
governing_law:

# Notes. Is there anything else to know?
notes:

# ---- Lines of the quote
items:
#   - what:
#     unit:
#     quantity:
#     unit_price:
#     total:
','{"seen": [{"field": "vendor", "place": "q.yaml:1", "words": "Aïda", "grade": "stated"}, {"field": "quote_id", "place": "q.yaml:2", "words": "Q-1", "grade": "stated"}, {"field": "purpose", "place": "q.yaml:3", "words": "buy", "grade": "stated"}, {"field": "accelerator", "place": "q.yaml:4", "words": "l40s", "grade": "stated"}, {"field": "accelerators_count", "place": "q.yaml:5", "words": "16", "grade": "stated"}], "left": []}');
CREATE TABLE servers (
	id TEXT NOT NULL, 
	host TEXT NOT NULL, 
	pid INTEGER NOT NULL, 
	began_at TEXT NOT NULL, 
	beat_at TEXT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE tokens (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	secret_sha256 TEXT NOT NULL, 
	made_at TEXT NOT NULL, 
	made_by TEXT NOT NULL, 
	expires_at TEXT NOT NULL, 
	revoked_at TEXT NOT NULL, 
	last_used_at TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (secret_sha256)
);
INSERT INTO "tokens" VALUES('t-06b8r8cs18r2q42','CI','reader','08e5b8b1c86630fb4cb6bac9651ae9cd31bfeb38d43a210167b58589c228884f','2026-12-01T04:44:26+00:00','ana','2026-12-31T04:44:26+00:00','','');
CREATE TABLE tracked_months (
	id INTEGER NOT NULL, 
	decision TEXT NOT NULL, 
	option TEXT NOT NULL, 
	month TEXT NOT NULL, 
	at TEXT NOT NULL, 
	"row" TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "tracked_months" VALUES(1,'dec','opt','2027-02','2026-12-01T04:44:26+00:00','{"month": "2027-02", "n": 2.5}');
INSERT INTO "tracked_months" VALUES(2,'dec','opt','2027-03','2026-12-01T04:44:26+00:00','{"month": "2027-03", "text": "año"}');
CREATE TABLE unknown_lines (
	import_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (import_id, number), 
	FOREIGN KEY(import_id) REFERENCES imports (id)
);
INSERT INTO "unknown_lines" VALUES(1,14,'INFO una línea de mañana; it''s "quoted"');
INSERT INTO "unknown_lines" VALUES(2,14,'INFO una línea de mañana; it''s "quoted"');
CREATE INDEX ix_imports_file_sha256 ON imports (file_sha256);
CREATE INDEX ix_observations_import_id ON observations (import_id);
CREATE INDEX observations_by_setup ON observations (engine, gpu);
CREATE INDEX ix_marks_observation_id ON marks (observation_id);
CREATE INDEX ix_price_imports_file_sha256 ON price_imports (file_sha256);
CREATE INDEX price_sightings_by_part ON price_sightings (accelerator, seen);
CREATE INDEX api_sightings_by_model ON api_sightings (model, seen);
CREATE TRIGGER price_imports_no_update BEFORE UPDATE ON price_imports BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE TRIGGER price_imports_no_delete BEFORE DELETE ON price_imports BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE INDEX ix_price_sources_import_id ON price_sources (import_id);
CREATE TRIGGER price_sources_no_update BEFORE UPDATE ON price_sources BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE TRIGGER price_sources_no_delete BEFORE DELETE ON price_sources BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE INDEX ix_price_sightings_import_id ON price_sightings (import_id);
CREATE TRIGGER price_sightings_no_update BEFORE UPDATE ON price_sightings BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE TRIGGER price_sightings_no_delete BEFORE DELETE ON price_sightings BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE INDEX ix_api_sightings_import_id ON api_sightings (import_id);
CREATE TRIGGER api_sightings_no_update BEFORE UPDATE ON api_sightings BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE TRIGGER api_sightings_no_delete BEFORE DELETE ON api_sightings BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE INDEX ix_price_unread_import_id ON price_unread (import_id);
CREATE TRIGGER price_unread_no_update BEFORE UPDATE ON price_unread BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE TRIGGER price_unread_no_delete BEFORE DELETE ON price_unread BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE INDEX tracked_by_decision ON tracked_months (decision, option, month);
CREATE TRIGGER tracked_months_no_update BEFORE UPDATE ON tracked_months BEGIN SELECT RAISE(ABORT, 'tracked months are only ever added'); END;
CREATE TRIGGER tracked_months_no_delete BEFORE DELETE ON tracked_months BEGIN SELECT RAISE(ABORT, 'tracked months are only ever added'); END;
CREATE INDEX quotes_by_vendor ON quotes (vendor, quote_id);
CREATE TRIGGER quotes_no_update BEFORE UPDATE ON quotes BEGIN SELECT RAISE(ABORT, 'quotes are only ever added'); END;
CREATE TRIGGER quotes_no_delete BEFORE DELETE ON quotes BEGIN SELECT RAISE(ABORT, 'quotes are only ever added'); END;
CREATE UNIQUE INDEX decisions_once ON decisions (digest, made_by);
CREATE INDEX decisions_by_brief ON decisions (brief_id, id);
CREATE UNIQUE INDEX jobs_by_key ON jobs (made_by, "key");
CREATE INDEX jobs_by_state ON jobs (state, id);
CREATE INDEX audit_by_thing ON audit (of_id, id);
CREATE TRIGGER brief_versions_no_update BEFORE UPDATE ON brief_versions BEGIN SELECT RAISE(ABORT, 'brief versions are only ever added'); END;
CREATE TRIGGER brief_versions_no_delete BEFORE DELETE ON brief_versions BEGIN SELECT RAISE(ABORT, 'brief versions are only ever added'); END;
CREATE TRIGGER decision_texts_no_update BEFORE UPDATE ON decision_texts BEGIN SELECT RAISE(ABORT, 'decision texts are only ever added'); END;
CREATE TRIGGER decision_texts_no_delete BEFORE DELETE ON decision_texts BEGIN SELECT RAISE(ABORT, 'decision texts are only ever added'); END;
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit are only ever added'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit are only ever added'); END;
COMMIT;
