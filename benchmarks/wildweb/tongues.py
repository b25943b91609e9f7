"""Sentences in many languages about a harbour, so that a page is in the language that it declares."""

from collections.abc import Mapping
from typing import Final

SENTENCES: Final[Mapping[str, tuple[str, str, str]]] = {
    "en": (
        "The pilot brought the old boat back to the harbour before the storm, and nobody was hurt.",
        "We painted the lighthouse last week, and now everybody can see it from the other shore.",
        "My father kept a book about every ship that came here, and I would like to read it again.",
    ),
    "es": (
        "El barco viejo volvió al puerto antes de la tormenta y nadie resultó herido, gracias a Dios.",
        "La semana pasada pintamos el faro y ahora todos lo pueden ver desde la otra orilla.",
        "Mi padre tenía un libro sobre cada barco que llegaba aquí y me gustaría leerlo otra vez.",
    ),
    "fr": (
        "Le vieux bateau est rentré au port avant la tempête et personne n'a été blessé, heureusement.",
        "Nous avons peint le phare la semaine dernière et tout le monde le voit depuis l'autre rive.",
        "Mon père tenait un livre sur chaque navire qui venait ici et je voudrais le relire.",
    ),
    "it": (
        "La vecchia barca è tornata al porto prima della tempesta e nessuno si è fatto male.",
        "Abbiamo dipinto il faro la settimana scorsa e adesso tutti lo vedono dall'altra riva.",
        "Mio padre teneva un libro su ogni nave che arrivava qui e vorrei leggerlo ancora.",
    ),
    "ro": (
        "Barca veche s-a întors în port înainte de furtună și nimeni nu a fost rănit.",
        "Am vopsit farul săptămâna trecută și acum toată lumea îl vede de pe celălalt mal.",
        "Tatăl meu avea o carte despre fiecare vapor care venea aici și aș vrea să o citesc din nou.",
    ),
    "de": (
        "Das alte Boot kam vor dem Sturm in den Hafen zurück, und zum Glück wurde niemand verletzt.",
        "Wir haben den Leuchtturm letzte Woche gestrichen, und jetzt sieht ihn jeder vom anderen Ufer.",
        "Mein Vater schrieb ein Buch über jedes Schiff, das hierher kam, und ich möchte es wieder lesen.",
    ),
    "tr": (
        "Eski tekne fırtınadan önce limana döndü ve çok şükür kimseye bir şey olmadı.",
        "Geçen hafta deniz fenerini boyadık ve şimdi herkes onu karşı kıyıdan görebiliyor.",
        "Babam buraya gelen her gemi için bir defter tutardı ve onu yeniden okumak istiyorum.",
    ),
    "th": (
        "เรือเก่ากลับมาถึงท่าเรือก่อนพายุจะมา และไม่มีใครได้รับบาดเจ็บเลย โชคดีมาก",
        "สัปดาห์ที่แล้วเราทาสีประภาคารใหม่ และตอนนี้ทุกคนมองเห็นได้จากอีกฝั่งหนึ่งของแม่น้ำ",
        "พ่อของฉันเคยจดบันทึกเกี่ยวกับเรือทุกลำที่มาที่นี่ และฉันอยากอ่านมันอีกครั้งหนึ่ง",
    ),
    "fa": (
        "قایق قدیمی پیش از توفان به بندر بازگشت و خوشبختانه هیچ کس آسیبی ندید و همه خوشحال شدند.",
        "هفته گذشته فانوس دریایی را رنگ کردیم و اکنون همه می‌توانند آن را از ساحل دیگر ببینند.",
        "پدرم درباره هر کشتی که به اینجا می‌آمد در دفتری می‌نوشت و من می‌خواهم آن را دوباره بخوانم.",
    ),
    "ja": (
        "古い船は嵐の前に港へ戻ってきましたが、幸いなことに怪我をした人は誰もいませんでした。",
        "先週みんなで灯台を塗り直したので、今では向こう岸からもはっきり見えるようになりました。",
        "父はここに来たすべての船のことを帳面に書いていたので、もう一度それを読みたいと思います。",
    ),
    "zh": (
        "那条旧船在暴风雨之前回到了港口，幸好没有人受伤，大家都非常高兴，晚上一起在码头边吃了一顿很长的晚饭，还唱了许多歌。",
        "上个星期我们给灯塔刷了新油漆，现在从对岸的每个地方都可以看见它了，渔民们说这比以前的灯光好得多，晚上回家也更安全。",
        "我父亲有一本书，里面写着来过这里的每一条船，我很想再读一遍那本书，可惜搬家以后谁也不知道它现在放在什么地方了。",
    ),
    "zh-TW": (
        "那條舊船在暴風雨之前回到了港口，幸好沒有人受傷，大家都非常高興，晚上一起在碼頭邊吃了一頓很長的晚飯，還唱了許多歌。",
        "上個星期我們給燈塔刷了新油漆，現在從對岸的每個地方都可以看見它了，漁民們說這比以前的燈光好得多，晚上回家也更安全。",
        "我父親有一本書，裡面寫著來過這裡的每一條船，我很想再讀一遍那本書，可惜搬家以後誰也不知道它現在放在什麼地方了。",
    ),
    "ko": (
        "낡은 배는 폭풍이 오기 전에 항구로 돌아왔고 다행히 다친 사람은 아무도 없었습니다.",
        "지난주에 우리는 등대를 새로 칠했고 이제는 건너편에서도 누구나 볼 수 있습니다.",
        "아버지는 이곳에 온 모든 배에 대해 공책에 적어 두셨고 저는 그것을 다시 읽고 싶습니다.",
    ),
    "ar": (
        "عاد القارب القديم إلى الميناء قبل العاصفة ولم يصب أحد بأذى والحمد لله على ذلك.",
        "في الأسبوع الماضي قمنا بطلاء المنارة والآن يستطيع الجميع رؤيتها من الشاطئ الآخر.",
        "كان والدي يكتب في دفتر عن كل سفينة تأتي إلى هنا وأود أن أقرأه مرة أخرى.",
    ),
    "he": (
        "הסירה הישנה חזרה אל הנמל לפני הסערה ולמרבה המזל איש לא נפגע ממנה.",
        "בשבוע שעבר צבענו את המגדלור ועכשיו כולם יכולים לראות אותו מן החוף השני.",
        "אבא שלי כתב מחברת על כל אונייה שהגיעה לכאן ואני רוצה לקרוא אותה שוב.",
    ),
    "hi": (
        "पुरानी नाव तूफान से पहले बंदरगाह पर लौट आई और सौभाग्य से किसी को चोट नहीं लगी।",
        "पिछले सप्ताह हमने प्रकाशस्तंभ को रंगा और अब सब लोग उसे दूसरे किनारे से देख सकते हैं।",
        "मेरे पिता यहाँ आने वाले हर जहाज के बारे में लिखते थे और मैं वह किताब फिर से पढ़ना चाहता हूँ।",
    ),
    "lt": (
        "Sena valtis grįžo į uostą prieš audrą, ir laimei niekas nebuvo sužeistas.",
        "Praėjusią savaitę nudažėme švyturį, ir dabar visi jį mato nuo kito kranto.",
        "Mano tėvas rašė knygą apie kiekvieną čia atplaukusį laivą, ir norėčiau ją vėl perskaityti.",
    ),
    "lv": (
        "Vecā laiva atgriezās ostā pirms vētras, un par laimi neviens netika ievainots.",
        "Pagājušajā nedēļā mēs nokrāsojām bāku, un tagad visi to var redzēt no otra krasta.",
        "Mans tēvs rakstīja grāmatu par katru kuģi, kas šeit ienāca, un es gribētu to izlasīt vēlreiz.",
    ),
    "vi": (
        "Chiếc thuyền cũ đã trở về bến cảng trước cơn bão và may mắn là không ai bị thương cả.",
        "Tuần trước chúng tôi đã sơn lại ngọn hải đăng và bây giờ ai cũng nhìn thấy nó từ bờ bên kia.",
        "Cha tôi có một quyển sách về mọi con tàu đã đến đây và tôi muốn đọc lại quyển sách ấy.",
    ),
    "ru": (
        "Старая лодка вернулась в гавань до бури, и, к счастью, никто не пострадал.",
        "На прошлой неделе мы покрасили маяк, и теперь его все видят с другого берега.",
        "Мой отец вёл книгу о каждом корабле, который сюда приходил, и я хочу снова её прочитать.",
    ),
    "uk": (
        "Старий човен повернувся до гавані перед бурею, і, на щастя, ніхто не постраждав.",
        "Минулого тижня ми пофарбували маяк, і тепер його всі бачать з іншого берега.",
        "Мій батько вів книгу про кожен корабель, який сюди приходив, і я хочу її знову прочитати.",
    ),
    "pl": (
        "Stara łódź wróciła do portu przed burzą i na szczęście nikt nie został ranny.",
        "W zeszłym tygodniu pomalowaliśmy latarnię i teraz wszyscy widzą ją z drugiego brzegu.",
        "Mój ojciec prowadził książkę o każdym statku, który tu przypłynął, i chciałbym ją znów przeczytać.",
    ),
    "cs": (
        "Stará loď se vrátila do přístavu před bouří a naštěstí nebyl nikdo zraněn.",
        "Minulý týden jsme natřeli maják a teď ho každý vidí z druhého břehu.",
        "Můj otec vedl knihu o každé lodi, která sem připlula, a rád bych si ji znovu přečetl.",
    ),
    "hu": (
        "A régi hajó a vihar előtt visszatért a kikötőbe, és szerencsére senki sem sérült meg.",
        "A múlt héten lefestettük a világítótornyot, és most mindenki látja a túlsó partról.",
        "Apám könyvet vezetett minden hajóról, amely ide jött, és szeretném újra elolvasni.",
    ),
    "fi": (
        "Vanha vene palasi satamaan ennen myrskyä, eikä kukaan onneksi loukkaantunut.",
        "Viime viikolla maalasimme majakan, ja nyt kaikki näkevät sen toiselta rannalta.",
        "Isäni piti kirjaa jokaisesta laivasta, joka tuli tänne, ja haluaisin lukea sen uudelleen.",
    ),
    "el": (
        "Το παλιό καράβι γύρισε στο λιμάνι πριν από την καταιγίδα και ευτυχώς κανείς δεν χτύπησε.",
        "Την περασμένη εβδομάδα βάψαμε τον φάρο και τώρα όλοι τον βλέπουν από την άλλη ακτή.",
        "Ο πατέρας μου έγραφε ένα βιβλίο για κάθε πλοίο που ερχόταν εδώ και θέλω να το ξαναδιαβάσω.",
    ),
    "eu": (
        "Itsasontzi zaharra ekaitzaren aurretik itzuli zen portura, eta zorionez inor ez zen zauritu.",
        "Joan den astean itsasargia margotu genuen, eta orain denek ikus dezakete beste ertzetik.",
        "Nire aitak hona etorritako itsasontzi guztiei buruzko liburu bat zuen, eta berriro irakurri nahi nuke.",
    ),
    "gl": (
        "O barco vello volveu ao porto antes da tormenta e por sorte ninguén resultou ferido.",
        "A semana pasada pintamos o faro e agora todos o poden ver desde a outra beira.",
        "Meu pai tiña un libro sobre cada barco que chegaba aquí e gustaríame lelo outra vez.",
    ),
    "ca": (
        "El vaixell vell va tornar al port abans de la tempesta i per sort ningú no va prendre mal.",
        "La setmana passada vam pintar el far i ara tothom el pot veure des de l'altra riba.",
        "El meu pare tenia un llibre sobre cada vaixell que arribava aquí i m'agradaria tornar-lo a llegir.",
    ),
    "id": (
        "Perahu tua itu kembali ke pelabuhan sebelum badai dan untungnya tidak ada yang terluka.",
        "Minggu lalu kami mengecat mercusuar dan sekarang semua orang dapat melihatnya dari pantai seberang.",
        "Ayah saya mempunyai buku tentang setiap kapal yang datang ke sini dan saya ingin membacanya lagi.",
    ),
    "hr": (
        "Stari brod vratio se u luku prije oluje i srećom nitko nije bio ozlijeđen.",
        "Prošli tjedan obojili smo svjetionik i sada ga svi mogu vidjeti s druge obale.",
        "Moj otac vodio je knjigu o svakom brodu koji je ovamo došao i želio bih je ponovno pročitati.",
    ),
    "sv": (
        "Den gamla båten kom tillbaka till hamnen före stormen, och som tur var blev ingen skadad.",
        "Förra veckan målade vi fyren, och nu kan alla se den från den andra stranden.",
        "Min far förde bok över varje skepp som kom hit, och jag skulle vilja läsa den igen.",
    ),
    "pt": (
        "O barco velho voltou ao porto antes da tempestade e felizmente ninguém ficou ferido.",
        "Na semana passada pintámos o farol e agora toda a gente o vê da outra margem.",
        "O meu pai tinha um livro sobre cada navio que chegava aqui e gostava de o ler outra vez.",
    ),
    "bg": (
        "Старата лодка се върна в пристанището преди бурята и за щастие никой не пострада.",
        "Миналата седмица боядисахме фара и сега всички го виждат от другия бряг.",
        "Баща ми водеше книга за всеки кораб, който идваше тук, и искам да я прочета отново.",
    ),
}
