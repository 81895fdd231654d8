/**
 * Common names of people from about twenty countries, in lower case and without accents, as `Tokens` folds them. The
 * lists are written from general knowledge and are incomplete; the words around a name make up for missing ones.
 */
const words = (text: string): readonly string[] => text.trim().split(/\s+/);

export const GIVEN_NAMES: ReadonlySet<string> = new Set(
  words(`
aaron abdul abdullah abel abigail ada adam adela adele adelheid adil adrian adriana afonso agata ageu agnes agnieszka agustin ahmad ahmed aidan
aileen aino aisha aitor akash akemi akira aksel alain alan alastair alba albert alberto aldo alec alejandra alejandro aleksandar aleksander
aleksandr aleksandra alena alessandra alessandro alessia alex alexander alexandra alexandre alexey alexia alexis alfie alfonso alfred alfredo ali
alice alicia alina alison alistair aliya allison alma alva alvaro alvin alyssa amalia amanda amandine amara amber ambre amelia amina amir amit
amparo amy ana anabel anais ananya anastasia anders andre andrea andreas andreea andrei andrej andres andrew andrey andrzej aneta angel angela
angeles angelica angelika angelique angelo anibal anika anil anita anja anjali ankit ann anna anne anneliese annemarie annette annie annika anouk
anselm anthony antje antoine anton antonia antonio apolline araceli archana aria ariana ariane ariel arjun arlette armando armin arnaud arne arnold
aron arthur arturo arvind asa asha ashley ashok asli astrid audrey aurelie aurora avery axel ayaan ayesha aylin ayse aysel aziz barbara bart bastian
bautista beata beate beatrice beatriz becky belen ben benedikt benita benjamin benny benoit bernard bernd bernhard bertha bertrand beth bettina
bianca bill billy birgit bjarne bjorn blanca blanche bob bogdan bonnie boris borja bozena brad bradley bram brandon brayan brenda brent brett brian
bridget brigitte britta brittany brooke bruce bruno bryan bryce burak cagla caitlin callum calvin cameron camila camille camilo candice carina carl
carla carlo carlos carlota carmen carol carolina caroline carsten casey cassandra catalina catarina caterina catherine cathy cecile cecilia cedric
celeste celia celine cesar chad chandra chantal charles charlotte chelsea cheryl chiaki chiara chloe chris christa christelle christian christiane
christina christine christoph christophe christopher christos chuck cindy claire clara clarissa clark claude claudia claudio clemens clement cleo
clifford coen colette colin concepcion conor constantin consuelo cora corinna corinne cornelia cornelius cosima courtney craig cristian cristina
curtis cynthia cyril daan dagmar daisuke dale dalia damian damien damir dan dana daniel daniela daniele daniella danielle danilo danny daphne daria
dario darren daryl dave david davide debbie deborah deepak deirdre delphine demetrius denis denise dennis derek derya desiree despina detlef devon
dhruv diana diane didier diego dieter dilip dimitri dirk divya djamila dmitri dmitry dolores dominic dominik dominika dominique don donald donna
doreen doris dorota dorothea dorothy douglas dragan drew duc duncan dusan dustin dylan earl eberhard ebru eda edith edmund edouard eduardo edward
edwin eero eileen eivind ekaterina elaine elena eleonora elias elif elin elina elio elisa elisabeth elise eliza elizabeth elke ella ellen ellie
elodie eloise elsa elvira emanuele emil emilia emiliano emilie emily emine emma emmanuel emmanuelle emmy emre encarnacion enrico enrique enzo eric
erica erik erika erin ernestine ernesto ernst erwin esra esteban estelle esther ethan etienne eugene eugenia eugenie eunice eustache eva evan
evangelos eve evelyn ewa fabian fabiana fabien fabio fabiola fabrice faisal faith farah farid fatima fatma fatou fausto faye federica federico
felipe felix femke ferdinand ferenc fernand fernanda fernando filip filipe filippo finja finn fiona flavia flavio fleur flora florence florian floyd
frances francesca francesco francis francisco franck franco francois francoise frank franz frauke fred frederic frederik frida frieder friederike
friedrich fritz gabriel gabriela gabriele gabriella gael gaelle gaetano galina ganesh gareth garrett gary gaspard gavin gemma genevieve gennaro
geoffrey georg george georges gerald geraldine gerard gerda gerhard german gerrit gertrud ghislaine giacomo giada gianluca gianni gideon gilbert
gilberto gilles gina ginevra gino giorgio giovanna giovanni gisela giselle gitte giulia giuseppe glenn gloria gonzalo goran gordon gottfried graham
greg gregor gregory greta grigory grzegorz guadalupe gudrun guido guillaume guillermo gunter gurpreet gustavo guy gwen gwendolyn hakan halima halina
hamza hanna hannah hanne hannes hans hanspeter harald harold harpreet harry haruka haruto harvey hasan hassan heather hector hedwig heidi heike
heinrich heinz helen helena helene helga helge helmut hendrik henning henri henriette henrik henrique henry herbert hermann hilary hilda hildegard
himanshu hiroshi holger holly horst hortense howard hritik hubert hugo hui hung huseyin hussein iain ian ibrahim ida ignacio igor ilaria ilona ilse
imane imran indira ines inga inge ingeborg ingrid inmaculada ioana irena irene irina iris irma irmgard isaac isabel isabella isabelle isaias isidro
isla ismail itziar ivan ivana ivo ivor iwona jacek jack jacob jacqueline jacques jada jadwiga jaime jakob jakub james jamie jan jana jane janet
janice janine jaqueline jaroslav jasmin jasmine jason jasper javier jean jeanette jeff jeffrey jennifer jenny jens jeremy jerome jerry jessica jesus
jill jim jimmy jing jiro jitka joachim joan joana joanna joao joaquin jochen jody joe joel joelle joerg johan johann johanna johannes john johnny
jolanda jon jonas jonathan joost jordi jorg jorge joris jose joseba josef josefina josep joseph josephine joshua josiane josue jovana joyce juan
juana juanita judith judy juha jules julia julian juliana juliane julie julien julieta juliette julio julius jun june jurgen justin justine justyna
jutta kai kaito kamal kamil karen karim karin karina karine karl karla karolina karsten kasper katarzyna kate kateryna katharina katherine kathleen
kathrin kathryn katie katja katrin kavita kavya kaye kazuki keiko keith kelly kemal ken kenji kenneth kerry kerstin kevin kiara kim kimberly kiran
kirk kirsten kjell klaus knut koen koji konrad konstantin krishna kristen kristian kristin kristina kristine kristof krystyna krzysztof kunal kurt
kyle laetitia lakshmi lalit lamine lana lance lara larissa larry lars lasse latoya laura lauren laurence laurent lauri laurie lea leah leandro lee
leif leigh leila leire lena lennart leo leon leonard leonardo leonie leopold leroy leslie leticia liam lidia lieke liesbeth lieselotte lila lilian
lillian lilly lily lina linda ling linh linnea linus lionel lisa liselotte livia ljiljana lloyd lluis logan lola lorena lorenzo loretta lorraine
lothar lotte louis louise lourdes lubomir luca lucas lucia luciana luciano lucie lucien lucille lucinda lucy ludmila ludovic ludovica ludwig luigi
luis luisa lukas lukasz luke luz lydia lynn maarten madeleine madhuri mads maeva magali magdalena magnus mahmoud maja makoto malgorzata malik
mallory malte mandy manfred manish manoj manon manuel manuela marc marcel marcela marcello marcelo marcin marco marcos marcus margaret margaretha
margarethe margarita margaux margherita margit margot maria mariam mariana mariangela marianne mariano maribel maricarmen marie marijke marika
marilyn marina mario marion marisa marisol maritza marius marjan marjorie marko markus marlene marlon marta marten martha martin martina marvin mary
maryam masako massimo mateo mateusz mathias mathieu mathilde matias matilda mats matteo matthew matthias matthieu maureen maurice mauricio mauro max
maxime maximilian may mayra mckenzie meenakshi meera megan mehdi mehmet mei meike mela melanie melina melissa melvin mercedes meryem mia michael
michaela michal michel michele michelle michiel mieke miguel mihaela mihai mikael mike mikhail mila milan mildred milena milos mina ming minh
mireille mirela miriam mirja mirko mohamed mohammad mohammed mohan moira moises mona monica monika monique montserrat moritz muhammad mukesh murat
muriel mustafa myriam myrtle nabil nadezhda nadia nadine nadja naima najib nanami nancy naomi narendra natacha natalia natalie natasha nathalie
nathan nathaniel naveen nayeli ned neha neil nele nelly nelson nestor ngoc niamh nicholas nick nicky nico nicola nicolas nicole nicoletta niels
nigel nihal nikhil nikita niklas nikola nikolai nikolaos nikolaus nils nilufer nina nisha noah nobuko noel noelia noemie nolwenn nora norbert norma
norman nuno nuria oceane octavio odile oksana olaf oleg olena olga oliver olivia olivier olof omar ophelie orlando ornella ortrud oscar oskar osman
osvaldo ottavio otto oviedo owen pablo padma paige palle pamela pamina pankaj paola paolo parvati pascal pasquale patrice patricia patricio patrick
patrik patrycja patty paul paula pauli paulina pauline paulo paulus pavel pawel pedro peggy pekka penelope per perla petar peter petra petros philip
philipp philippe phillip phyllis pia piero pierre pieter pietro pilar pim piotr pooja poppy pradeep prakash pranav preeti prisca priya purificacion
quentin quoc rachel rachid radha radoslaw rafael rafal raffaele rahul raimund raimundo rainer raisa raj rajesh rajiv ralf ralph ramesh ramon ramona
randy ranjit raphael raquel rashid rasmus raul ravi raymond raymonde rebecca reggie regina regis reinhard reinhold remi remy renata renate renaud
rene rhea rhonda rhys ricarda ricardo riccardo rich richard ricky rikke rishi rita ritu rob robert roberta roberto robin rocco rocio rodolfo rodrigo
rogelio roger rohan rohit roland rolando rolf romain roman romy ron ronald ronan ronja ronny rory rosa rosalia rosalie rosalind rosanna rosanne
rosario roselyne rosemary ross rowan roxane roy ruben rudi rudiger rudolf rui rupali rupert russell ruth ryan sabina sabine sabrina sachin sadie
said sakura sally salma salome salvador salvatore sam samantha samir samuel sana sandeep sander sandra sandrine sandro sanjay sanna sanne santiago
santosh sara sarah sari sascha saskia satish saul savannah scott sean sebastiaan sebastian sebastien selena selin selma serena serge sergei sergey
sergio serhat severine shane shannon sharon shaun shawn sheila sheryl shirley shreya shruti siddharth siegfried sigrid sigrun sigurd silas silke
silvia silvio simon simona simone simran sinead siobhan sita sjoerd slawomir slobodan sneha sofia sofie solange soledad solene sonal sonia sonja
sophia sophie soren stacey stacy stan stanislav stanislaw stefan stefania stefanie stefano stella stephan stephane stephanie stephen steve steven
stig stuart sue sumathi sumit sunil sunita suresh susan susana susanna susanne suzana suzanne svein sven svenja svetlana swati sylvain sylvia sylvie
sylwia tadeusz takashi takeru takeshi tamara tamas tammy tania tanja tanvi tariq tatiana tatsuya ted tejas teodora terence teresa terje terry thea
theo theodor theresa therese thi thiago thibault thierry thilo thomas thomasine thorsten thu tiago tibor tiffany tijana till tilman tim timo
timothee timothy tina tobias todd tom tomas tomasz tony torben tore torsten tracy travis trevor tristan trond trudy tuomas tyler tyrone udo ugo ugur
ulf ulla ulrich ulrike umberto unai urs ursula uschi usha ute uwe valentin valentina valentine valeria valerie valter vanessa varun vasco vasil veit
venkat venkatesh vera verena veronica veronika veronique vesna vicente vicki vicky victor vidya vijay vikram viktor viktoria vinay vince vincent
vincenzo viola violet violeta violette virginie vishal vito vittoria vivek vivian viviana vivien vladimir volker wade waldemar waleed walter
waltraud wanda warren wayne wei wendel wendy werner wibke wiebke wieland wilfried wilhelm willem william wilma wilson winfried wojciech wolfgang
xavier xenia ximena xin yael yago yan yann yannick yannis yaroslav yasemin yash yasmin yasmine ying yohan yoko yolanda yoshiko youssef yu yuan yuki
yuko yulia yuri yusuf yvan yves yvette yvonne zachary zainab zara zbigniew zdenek zehra zeynep zoe zofia zoltan zoya zuzana александр александра
алексей алена алина анастасия андрей анна антон артем борис вадим валентина валерий василий вера виктор виктория виталий владимир галина дарья денис
дмитрий евгений евгения екатерина елена иван игорь илья ирина кирилл константин ксения лариса людмила максим маргарита марина мария михаил надежда
наталья никита николай оксана олег олександр ольга павел петр полина роман светлана семен сергей софия степан тамара тарас татьяна федор юлия юрий
ярослав
`),
);

export const SURNAMES: ReadonlySet<string> = new Set(
  words(`
aalto abbott abdi abdullah abe acosta adams adler aebischer agarwal agostini aguilar aguirre ahmed akhtar albers albert albrecht aldana alexander
ali allard allen almeida alonso altmann alvarez alves amado amato ammann anand andersen anderson andersson andrade andre andrews antoine antonov
appel aquino araujo arce arias armstrong arndt arnold arora arroyo arslan asensio auer augustin avila ayala aydin babic baert bailey bakker baldwin
balogh banerjee banks baptista barbier barbieri barbosa barnes barros bartels barth barton bastos batista bauer baumann baur bautista beaumont beck
becker begum behrens bell bellamy bellini beltran benali benedetti benitez bennett berg berger berglund bergman bergmann bergstrom bernard berthelot
bertolini bertrand bhat bhatt bianchi bielawski biondi blanc blanco blom blum bocquet boer bohm bonilla bonnet boone borg borges bosch bouchard
bourgeois bowman boyd boyer brady branco brandt braun bravo brennan breton briggs brinkmann brito britt brooks brouwer bruhn brun bruni brunner
bruno bryant buchholz bueno bui burgess burke burns burton busch butler caballero cabrera calvo campbell campos caputo carbone cardenas cardoso
carlson carlsson caron carpenter carr carrasco carrillo carroll carter caruso carvalho castellanos castelli castillo castro cattaneo cavalcanti
celik cerny cervantes chan chang chapman charpentier chatterjee chaudhari chaudhary chauvin chavez chen cheng cheung chevalier chopra chowdhury
christensen cisneros claes claesson clark clarke clement coelho cohen coleman colin collet collins colombo conte conti contreras cooper cordero
correa cortes corti costa coulibaly couto cox craig crawford crespo cross cruz cunha cunningham curtis da dabrowska dabrowski dahl dalton dang
daniels danielsson das david davies davis de dekker delacroix delaunay delgado deluca demir deng denis desai deschamps deshmukh deshpande desmet
diallo dias diaz dickson dietrich dietz dijk dijkstra dixon dogan domingo dominguez donnelly douglas doyle drechsler drexler duarte dubey dubois
duffy dufour dumas dumont duncan dunn duong dupont dupuis duran durand dutta duval dvorak dwyer ebert eckert edwards egger elliott ellis engel
engels eriksson ernst escobar espinosa esposito esteves estevez estrada etxeberria evans fabbri fabre falk farkas farrell faure fay feldmann felix
ferguson fernandes fernandez ferrara ferrari ferreira ferrer ferrero ferri figueiredo figueroa fink fischer fisher fitzgerald fleischer fleming
flores flynn fonseca fontaine ford forsberg foster fournier fowler franco francois frank franke franz fraser freeman freitag freitas frey frias
friedman friedrich fritz frost fuchs fuentes fujita galindo gallagher gallego galli gallo gamboa gandhi garcia garnier garrido garza gaspar gatti
gauthier gautier geiger geller gentile gerard ghosh giordano girard giraud giuliani glaser goebel goetz goldberg goldstein gomes gomez goncalves
gonzales gonzalez gordon gorski goswami gottschalk gough graf graham grant graves greco gregory grey griffin griffiths grimm groot gross gruber
guerin guerra guerrero guevara guidi guillot gunther gupta gustafsson gutierrez guzman haas hagen hahn haim hakansson hale hall hamilton hansen
hanson hansson haraldsen hardy harper harris harrison hartley hartmann hartwig harvey hasan hashimoto hassan hauser hawkins hayashi hayes hedlund
heijden heinrich heinz heller helms henderson hendriks hennig henriksen henry herbst hermann hermans hernandez herrera herrmann herzog hess heuer
hidalgo higgins hill hirsch ho hoang hodge hofer hoffman hoffmann hofmann holland holloway holm holmes holt hopkins horn horvat horvath hossain
houben houston howard huang huber hudson hughes humbert hunt hunter hussain hutchinson ibanez ibrahim iglesias inoue ionescu ishii ito ivanov
ivanova iversen iyer izquierdo jackson jacob jacobs jacobsen jacquet jager jahn jain james jansen janssen janssens jansson januszewski jaramillo
jenkins jensen jimenez johansen johansson johnson johnston johnstone jones jonsson jordan joshi juarez jung jurgens kaiser kallio kaminska kaminski
kang kaplan kapoor karim karlsen karlsson kasper kato kaufmann kaur kawasaki kaya keller kelley kelly kemp kennedy kern kerr kessler khan kim kimura
kirchner kjaer klassen klaus klausen klein knight knudsen kobayashi koch koenig kohl kohler kondo konig kopp korhonen korn kos kovac kovacs kowalska
kowalski kozlov kramer krause krebs kristensen kristiansen krol kroll krueger kruger kruse kubiak kuhn kuiper kulkarni kumar kumari kurt kuznetsov
laaksonen lacroix lafont lam lamb lambert landry lang lange langlois lara larsen larsson lau laurent laursen lavigne lawrence lawson le leal lebedev
leclerc lecomte lee leeuwen lefebvre lefevre legrand legros lehmann leitner lemaire lemoine lenz leon leonard leroy levy lewandowski lewis li lin
lind lindberg lindgren lindqvist lindstrom linke lloyd lombardi lopes lopez lorenz lowe lozano lucas ludwig luna lund luo ly lynch macdonald macedo
machado maciel mackenzie madsen magalhaes mahler mahmood maier maldonado mallick mancini mann manning marchal marchand marchetti marin marino
marques marquez marsh marshall martens marti martin martinelli martinez martini martins mason massa mathieu matos matsumoto matthews maurer may
mayer mazur mcbride mccarthy mccoy mcdonald mcgrath mckay mckenzie mclean mcmahon medeiros medina mehta meier meijer mejia melo mendes mendez
mendonca mendoza menon menzel mercier mertens messina metz meyer michaud michel mikkelsen milani miller mills miranda mishra mitchell mitra mittal
mohamed moles molina moller monteiro montero monti moon moore mora moraes morales moreau moreira morel moreno moretti morgan mori morin morris
morrison moser moura mueller mukherjee mulder muller munoz murillo murphy murray musa myers nagy naidu naik nair nakamura nascimento naumann navarro
negri nelson neri neumann neves newman ngo nguyen nichols nicolas nielsen niemi nikolaev nilsson nogueira nolan nordin noronha norris novak novotny
nowak nowicki nunes nunez nunn nystrom obermeier obrien ochoa oconnor odonnell ogawa ohara okada okafor olivares oliveira olivier olsen olson olsson
oneill ong oreilly orlando orlov ortega ortiz osborne osullivan otero otto owens ozdemir ozkan ozturk pacheco padilla page palacios palmer pandey
papadopoulos papp paris park parker parra parsons pascal pasquier patel patil patterson paul pavlov pavlovic payne paz pearce pearson pedersen
peeters pellegrini peltonen pena peralta pereira perez perrin perron perry pesci peters petersen peterson petersson petit petrov petrova pettersson
pfeiffer pham philippe phillips picard pierce pierre pillai pineda pinto pires pohl poirier pons popescu popov porter post powell prado prasad
preston prieto pruitt puig quinn quintana quintero quiroga raghavan rahman raja ramirez ramos ramsey rangel rao rasmussen rath rathore rau raymond
reddy reed reid reilly reinhardt reis remy renard renaud reuter rey reyes reynolds rhodes ribeiro riccardi ricci rice richards richardson richter
riedel rinaldi rios riva rivas rivera rizzo roberge robert roberts robertson robinson rocha roche rodrigues rodriguez roger rogers rojas roman
romano romero rosa rosario rose rosen rosenberg ross rossi roth rousseau roux rowe roy rubio rudolph ruf ruffini ruiz russell russo ryan saez sahin
saidi saito salazar salinas salmon salvador sampaio samuelsson sanchez sandberg sanders sandoval santana santiago santoro santos sanz sasaki sato
sauer saunders savoia schaefer schafer schenk schiller schlegel schmid schmidt schmitt schmitz schneider scholten scholz schramm schreiber schreiner
schroder schroeder schubert schuler schulte schultz schulz schulze schumacher schuster schwartz schwarz scott seidel seifert sepulveda serra serrano
shah sharma shaw shen shepherd sherman shetty shevchenko shimizu shukla siebert silva simmons simon simpson singh sinha sjoberg skov smeets smirnov
smit smith soares sobczak sokolov solovyov sommer sorensen sorrentino soto sousa souto souza spencer stark steele stein steiner stevens stewart
stone storm strand strauss strobel suarez sullivan sun sundaram suzuki svensson svoboda sykes szabo szewczyk szymanski takahashi tamura tan tanaka
tang tavares teixeira testa thakur theis thiel thomas thompson thomsen thorne tomasi torres toth tran tremblay trinh tucker turner tyler ueda ulrich
unger urban usman vaidya valdez valencia valentine valle vandenberg varela varga vargas vasquez vasseur vaughan vazquez veenstra vega velasquez
velez venkataraman verma vermeulen vial vidal vieira villa villanueva vincent virtanen visser vitale vo vogel vogt voigt volkov vos vries vu wade
wagner wahl walker wallace walsh walter walters wang ward warren washington watanabe watson weaver webb weber wegner wei weiss wells wendt wenzel
werner west westerberg white whitehead wieczorek wiese wilhelm willems williams wilson winkler wisniewska wisniewski witt witte wojciechowski wojcik
wolf wolff wong wood woods wright wu xiao xu yadav yamada yamaguchi yamamoto yang yates yeo yildirim yildiz yilmaz yoshida yu yuan zamora zapata
zhang zhao zheng zhou zhu ziegler zielinska zielinski zieliński zimmer zimmermann zola zuniga алексеев васильев волков егоров иванов иванова козлов
кузнецов лебедев михайлов морозов новиков павлов петров попов семенов смирнов смирнова соколов федоров
`),
);

/** Names that are also words, places or products: they count only next to another known name. */
export const AMBIGUOUS: ReadonlySet<string> = new Set(
  words(`
ada adam alba alexandria alma amber angel angelo aria ariel art asia aurora austin banks barth bell berg best bill bob brad brandt bravo brooke
brooks bueno bui burns calvin carolina carpenter carter casey chad chan chang charlotte chase chuck clark cook cooper costa cross cruz crystal
curtis da dahl dale dallas dang daniels das david de diamond diego dixon domingo don drew duran dustin dylan earl ebert engel ernst esther eve faith
falk fay felix fink fisher fleming fleur flora florence ford foster fowler francisco franco frank franz frey fritz frost gary geo georgia german
glenn grace graf grant grey gross guy hale hall hardy harper harry hawkins helena henry hermann hill ho holland holm holt horn houston hudson hui
hunt hunter iris ivy jack jackson jacob jada james jan jasmine jasper jean jenkins jerome jerry joe jordan jose joy julia jun june kai kang kelvin
kemp ken kern kim klaus knight kos krebs kurt lam lamb lance lang lange lara larry lau laurent lawrence le leal lee leo leon leonard leslie li lin
lincoln ling lisa lloyd logan long lowe lucas luis luna lund ly lynn madison mandy mann marin marina mario mark marsh martin mason massa max may mei
mercedes milan miller mills mina ming miranda moon moore morgan musa myers nelson ngo noah noel norma norman nunn ong orlando osborne page palmer
paris parker pascal paul payne paz pearl penny per perla perry petit pia pierce pilar pinto polo porter post prado preston price quinn raja ralph
ramsey ray raymond reed rey rice rich riva rob robert robin roger roman rosa rosario rose ross roth rowan rowe roy ruby ruiz russell ryan sage
salmon sam sami sana sander santiago sari savannah scott serra shane shaw sierra simon simone smith stan stark steele stein stella stewart stig
stone storm strand sue summer sun sydney tan tang taylor ted terry testa thi thu till todd tony tore travis tucker turner tyler unai unger urban
valencia valle vega vera vial victoria villa vincent viola violet virginia vo vogel vos vu wade wahl walker ward warren washington watson wayne
weaver webb wei weiss wells west white will wilson witt witte wolf wood woods wright wu xin ying young yu yuan zamora zola
`),
);

/** Titles before a name, in lower case as folded. In the text they begin with a capital. */
export const TITLES: ReadonlySet<string> = new Set(
  words(`
mr mrs ms miss mister madam dr prof professor doctor sir lady herr frau fraulein mme mlle madame monsieur mademoiselle sr sra srta senor
senora senorita sig signor signora sra dona don dhr mevr mevrouw meneer pan pani госпожа господин hr fr
`),
);

/** A greeting before a name. */
export const GREETINGS: ReadonlySet<string> = new Set(
  words(
    "dear hello hi hey hallo liebe lieber bonjour cher chere hola estimado estimada querida ciao caro cara beste prezado ola",
  ),
);

/** Labels whose value is always a name, with all separators between their words removed. */
const STRONG_LABELS = words(`
firstname lastname fullname givenname surname familyname middlename maidenname forename customername patientname cardholder
cardholdername accountholder accountholdername holdername contactname recipientname personname employeename guestname passengername
billingname shippingname payeename beneficiaryname buyername ownername studentname nameoncard vorname nachname familienname kundenname
prenom nomdefamille nomcomplet apellido apellidos nombrecompleto cognome voornaam achternaam sobrenome nomecompleto imie nazwisko имя фамилия фио
`);
/** Labels whose value, if it is a name, is the name of a person. */
const PERSON_LABELS = words(`
customer patient employee author contact recipient assignee reporter approver passenger guest beneficiary payee signedby createdby approvedby
assignedto requestedby reviewedby submittedby attn kunde kundin patientin ansprechpartner empfanger absender bearbeiter paciente titulaire
destinataire утвердил клиент пациент
`);
/** Labels whose value may also be the name of a thing. */
const THING_LABELS = words(`
name username displayname user client sender owner manager updatedby to from cc nom nombre cliente nome utente naam klant values
`);

export const STRONG_LABEL = 1;
export const PERSON_LABEL = 2;
export const THING_LABEL = 3;

export const NAME_LABELS: ReadonlyMap<string, number> = new Map([
  ...THING_LABELS.map((label) => [label, THING_LABEL] as const),
  ...PERSON_LABELS.map((label) => [label, PERSON_LABEL] as const),
  ...STRONG_LABELS.map((label) => [label, STRONG_LABEL] as const),
]);

/** Lower-case words between the parts of a name. */
export const PARTICLES: ReadonlySet<string> = new Set(
  words("von van de der den del della dello da dos das do di du la le zu zur zum bin ibn al el ter ten af av y e"),
);

/** Capitalised words that end a name or cannot begin one: names of programs and companies, months, days. */
export const NOT_NAMES: ReadonlySet<string> = new Set(
  words(`
a an the and or for from to in on at by with of is was has are not no new old this that all any if when error warning warn info debug fatal
trace exception failed failure success server service services client user users manager handler controller worker job task queue cluster node
pod host database table schema index api app application system session request response order invoice payment cart store shop bank
account team group company inc llc ltd gmbh ag sa corp corporation foundation institute university school college hospital hotel airport
station street road avenue lane drive square park bridge center centre building tower island islands river lake mountain city county state
north south east west central international national federal royal united states kingdom republic january february march april june july august
september october november december feb apr aug sep oct nov dec monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche
windows linux android chrome safari firefox edge mozilla java python node docker kubernetes amazon google microsoft apple oracle redis kafka
postgres mysql mongo nginx apache elastic jenkins github gitlab azure cloud web data test tests build release version update started stopped
starting stopping created deleted updated getting setting connection timeout retry cache config configuration module package class method
function object value key type name file path line message event events log logs metric metrics report dashboard page view button form field
id status code number date time day week month year english german french spanish italian get post put patch delete head options
http https sql json xml html utf null true false prize award theorem law syndrome algorithm distribution transform filter test
`),
);
