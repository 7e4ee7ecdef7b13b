"""The meaning of a column's name, in several languages: an owner of rows, personal data, a label,
an amount, a plain category.

A name is read word by word: "patientId", "patient_id" and "Patienten-Nr." are a patient and an id.
Scripts without spaces and German compounds are taken apart at the words known here. An attribute of
somebody ("customer age") is not somebody.
"""

from __future__ import annotations

import re
from collections.abc import Collection


def split_set(words: str) -> frozenset[str]:
    """Split a text into a set of words."""
    return frozenset(words.split())


PERSONS = split_set("""
    user users client clients patient patients owner customer customers author member participant respondent person people guest
    visitor reviewer reader buyer seller student pupil teacher employee driver player tenant rater annotator worker applicant
    username login nickname speaker subject account household candidate borrower voter citizen subscriber passenger donor
    creator cust usr pat uid userid kunde kunden kundin kundennr patientin patienten nutzer benutzer anwender mitglied käufer
    kaeufer besteller verkäufer teilnehmer proband schüler schueler lehrer mitarbeiter mitarbeiterin angestellter verfasser
    autor autorin fahrer versicherter versicherte mieter bewohner bürger buerger gast leser spieler konto kontoinhaber haushalt
    klient klientin mandant mandantin utilisateur utilisatrice cliente clientes acheteur acheteuse vendeur membre auteur auteure
    élève eleve étudiant etudiant employé employe salarié salarie abonné abonne assuré assure personne lecteur conducteur usager
    foyer compte usuario usuaria paciente pacientes comprador vendedor miembro alumno alumna estudiante empleado empleada
    persona lector asegurado socio conductor jugador autora cuenta utente paziente pazienti acquirente venditore membro studente
    studentessa dipendente assicurato lettore abbonato utilizador usuário estudante aluno aluna funcionário funcionario pessoa
    segurado leitor titular клиент клиента пациент пациента пользователь пользователя покупатель продавец участник студент
    ученик сотрудник автор водитель абонент заказчик человек учитель житель klant klanten gebruiker patiënt lid deelnemer
    medewerker leerling koper kund användare medlem elev anställd patientnr pacjent użytkownik uzytkownik kupujący uczeń
    pracownik müşteri musteri hasta kullanıcı kullanici öğrenci çalışan üye asiakas potilas käyttäjä työntekijä oppilas
    opiskelija jäsen medarbetare bruger bruker medarbejder ansatt pasient studerende zákazník zakaznik uživatel uzivatel
    zaměstnanec zamestnanec pacient žák student ügyfél ugyfel beteg felhasználó tanuló dolgozó utilizator angajat клієнт
    пацієнт користувач учень πελάτης ασθενής χρήστης μαθητής pelanggan pasien pengguna siswa karyawan gebruikers werknemer
    """)
PLACES = split_set("""
    hospital site device clinic ward school branch store sensor tenant krankenhaus klinik filiale schule gerät geraet hôpital
    hopital clinique école magasin appareil clínica clinica escuela tienda dispositivo ospedale scuola negozio escola loja
    больница школа устройство
    """)
"""Owners that are not persons: they own rows if no person does."""
_UNSPACED_PERSONS = (
     "客户", "用户", "患者", "病人", "顾客", "会员", "学生", "员工", "作者", "买家", "卖家", "居民", "投保人", "被保险人", "司机",
    "顧客", "會員", "員工", "利用者", "ユーザー", "ユーザ", "会員", "社員", "生徒", "従業員",
    "お客様", "고객", "환자", "사용자", "회원",
    "학생", "직원", "작성자", "عميل", "العميل", "مريض", "المريض", "مستخدم", "المستخدم", "ग्राहक", "मरीज",
    "उपयोगकर्ता",
)  # fmt: skip
_UNSPACED_IDS = (
    "编号", "编码", "代码", "标识", "账号", "号码", "号", "番号", "コード", "번호", "아이디", "姓名", "名称", "名", "氏名",
    "이름", "명", "رقم", "id",
)  # fmt: skip
_STEMS = (
     "kunde", "patient", "benutzer", "nutzer", "mitglied", "käufer", "teilnehmer", "proband",
    "schüler", "mitarbeiter", "versicherte", "personal", "konto", "klient", "mandant",
)  # fmt: skip
_LONG_PERSONS = tuple(
    sorted((word for word in PERSONS if len(word) >= 4), key=lambda word: (-len(word), word))
)
_COMPOUND = re.compile(
    r"(e?n|in|innen|s|e)?(nummer|numer|number|nro|nr|num|no|id|code|kode|kod|kennung|tunnus|schlüssel|name|kürzel)"
)
_ENDINGS = split_set("a e i u y n en in er ar ów om а у ом ов и ы")
"""Endings of cases and plurals: "klienta" is a form of "klient"."""
ID_WORDS = split_set("""
    id ids uuid guid index idx key nr no num number row rowid unnamed nummer kennung numéro numero numer número nro číslo номер №
    """)
REPEATING_ID_WORDS = split_set("id ids uuid guid")
_FILLERS = ID_WORDS | split_set("""
    name code hash email mail e the of pseudonym token ref handle anon anonymised anonymized masked hashed de del du la le di do
    da der des codice cod código codigo kode kod код
    """)
PERSONAL = split_set("""
    email emails mail mails phone phones telephone tel mobile cellphone handy telefon telefonnummer téléphone teléfono telefono
    telefone celular móvil телефон iban kontonummer ssn passport passnummer pasaporte passeport reisepass паспорт dni nif nie
    cpf rg curp rfc pesel nino aadhaar pan bsn снилс инн personnummer tckn steuer steuerid sozialversicherungsnummer
    versichertennummer insurance krankenversichertennummer address addresses street adresse anschrift straße strasse dirección
    direccion indirizzo endereço endereco адрес улица adres adress surname lastname firstname forename fullname vorname nachname
    familienname prénom prenom apellido apellidos cognome sobrenome фамилия имя отчество фио имейл nazwisko imię birthdate
    birthday dob geburtsdatum geburtstag naissance nacimiento nascita nascimento ip mac card creditcard kreditkarte kartennummer
    tarjeta carte plate kennzeichen nummernschild matrícula immatriculation targa kenteken rej rejestracja rejestracyjny plaka
    госномер hetu henkilötunnus fiscale fisc instagram twitter facebook linkedin homepage username login nickname
    """)
_UNSPACED_PERSONAL = (
    "姓名", "名字", "电话", "手机", "邮箱", "电子邮件", "身份证", "地址", "住址", "生日", "出生日期", "银行卡", "护照", "微信",
    "氏名", "名前", "電話", "住所", "メール", "生年月日", "이름", "성명", "전화", "주소", "이메일", "생년월일", "주민등록번호",
)  # fmt: skip
LABEL_WORDS = (
     "label", "labels", "target", "class", "y", "sentiment", "category", "outcome", "diagnosis",
    "topic", "spam", "churn", "survived", "fraud", "risk", "readmitted", "attrition", "intent",
    "emotion", "klasse", "kategorie", "zielvariable", "diagnose", "stimmung", "thema", "étiquette",
    "etiquette", "classe", "catégorie", "categorie", "cible", "diagnostic", "clase", "categoría",
    "categoria", "etiqueta", "diagnóstico", "diagnostico", "objetivo", "etichetta", "classe",
    "diagnosi", "rótulo", "alvo", "метка", "класс", "категория", "диагноз", "тональность", "标签",
    "類別", "类别", "分类", "情感", "诊断", "ラベル", "分類", "라벨", "분류",
)  # fmt: skip
WEAK_LABEL_WORDS = (
     "species", "income", "result", "rating", "stars", "verdict", "quality", "type", "status",
    "response", "default", "ergebnis", "bewertung", "résultat", "resultado", "risultato",
    "результат", "结果", "评分",
)  # fmt: skip
"""Labels if they are the whole name; as part of one ("blood type") they mean nothing."""
TAG_WORDS = split_set("""
    tags tag genre genres topics categories labels keywords themen kategorien étiquettes etiquetas теги жанры
    """)
AMOUNT_WORDS = split_set("""
    price prices saleprice cost costs salary wage wages revenue sales charges charge amount score value total turnover profit
    yield medv fare preis kaufpreis miete gehalt lohn umsatz kosten betrag gewinn wert prix loyer salaire montant coût cout
    valeur precio alquiler salario importe costo coste valor prezzo affitto stipendio importo valore preço preco aluguel salário
    цена стоимость зарплата сумма аренда prijs cena fiyat 价格 售价 房价 工资 金额 薪资 値段 価格 給料 가격 금액
    """)
STRONG_AMOUNT_WORDS = AMOUNT_WORDS - split_set(
    "amount score value total yield fare valor valeur valore wert betrag 金额 금액"
)
"""Amounts that are a table's subject in any column; others may be one of many measurements."""
_MEASUREMENTS = split_set("""
    age year month day hour minute second date time timestamp latitude longitude lat lon lng zip postcode plz x y z size weight
    height width length count alter jahr monat tag âge año edad età idade возраст год 年龄 年
    """)
THINGS = split_set("""
    brand make manufacturer city town country region state province county continent product item category department colour
    color month weekday day team club film movie book genre species breed plant language currency industry sector job occupation
    profession diagnosis icd code model type status class kind marke hersteller stadt ort land bundesland produkt artikel
    abteilung farbe monat wochentag beruf verein sprache branche ville pays région produit marque couleur mois métier ciudad
    país pais región provincia producto marca mes città paese regione prodotto colore mese cidade cor город страна регион марка
    товар цвет месяц 城市 国家 省份 省 地区 品牌 产品 颜色 月份 部门 类别 科室 都市 国 色 商品 drug medication ship version
    release build school university airline airport station sku article part material isbn ean gtin cas icd cpt atc drg ndc
    loinc hcpcs naics zip zipcode postcode postal plz grid error firmware os software
    room bed zimmer bett line machine maschine flight route lot batch
    """)
"""Names of category columns: their values may look like people's names ("Calvin Klein") but are
not.
"""


def split_words(name: str) -> tuple[str, ...]:
    """Split a column name into lower-case words: "patientId" and "patient_id" give patient, id;
    "客户编号" gives 客户, 编号.
    """
    spaced = re.sub(r"(?<=[a-zа-я])(?=[A-ZА-Я])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    found: list[str] = []
    for word in re.findall(r"[^\W\d_]+|№", spaced.lower()):
        found += _split_compound(word)
    return tuple(found)


def _split_compound(word: str) -> list[str]:
    """Split a word into the known words that it is composed of, if it is."""
    for known in (*_UNSPACED_PERSONS, *_UNSPACED_PERSONAL):
        rest = word.removeprefix(known)
        if rest != word and (not rest or rest in _UNSPACED_IDS):
            return [known, *([rest] if rest else [])]
    if word in PERSONS or (word in PERSONAL and not word.startswith(_STEMS)):
        return [word]
    for stem in (*_STEMS, *_LONG_PERSONS):
        if word.startswith(stem) and _COMPOUND.fullmatch(word.removeprefix(stem)):
            return [stem, "nummer"]
    inflected = (
        stem
        for stem in _LONG_PERSONS
        if word.startswith(stem) and word.removeprefix(stem) in _ENDINGS
    )
    return [next(inflected, word) if word not in THINGS | AMOUNT_WORDS | set(LABEL_WORDS) else word]


def find_owner_word(words: Collection[str]) -> str | None:
    """The word that marks a column of row owners; None for attributes of owners."""
    others = [
        word
        for word in words
        if word not in PERSONS and word not in PLACES and word not in _UNSPACED_PERSONS
    ]
    if any(word not in _FILLERS and word not in _UNSPACED_IDS for word in others):
        return None
    return next((word for word in words if word not in others), None)


def is_person(word: str) -> bool:
    """Whether an owner word means a person, not a place or a device."""
    return word in PERSONS or word in _UNSPACED_PERSONS or word in _STEMS


def find_personal_word(words: Collection[str]) -> str | None:
    """The word that marks a column of personal data; None if other words change its meaning."""
    said = [word for word in words if word in PERSONAL or word in _UNSPACED_PERSONAL]
    rest = [word for word in words if word not in said]
    known = (
        PERSONS
        | _FILLERS
        | split_set(
            "first last full home private work birth date contact social security credit tax"
        )
    )
    if any(
        word not in known and word not in _UNSPACED_PERSONS and word not in _UNSPACED_IDS
        for word in rest
    ):
        return None
    if said:
        return said[0]
    joined = " ".join(words)
    phrases = (
        "first name",
        "last name",
        "full name",
        "birth date",
        "date birth",
        "social security",
        "credit card",
        "family name",
    )
    return next((phrase for phrase in phrases if phrase in joined.replace(" of ", " ")), None)


def names_things(words: Collection[str]) -> bool:
    """Whether a column's name says that its values are names of things, such as cities or
    brands.
    """
    return any(word in THINGS for word in words)


def names_amounts(words: Collection[str], *, strongly: bool = False) -> bool:
    """Whether a column's name means an amount; `strongly`: one that is probably the table's
    subject.
    """
    return any(word in (STRONG_AMOUNT_WORDS if strongly else AMOUNT_WORDS) for word in words)


def names_measurements(words: Collection[str]) -> bool:
    """Whether a column's name means a measurement or a count that accompanies the table's subject."""
    return any(word in _MEASUREMENTS or word in ID_WORDS for word in words)
