"""Detect personal names by the form of cells: given names of many languages, family names of some,
and how names are written.

The lists hold common names only. A column holds names if enough of its values have a known one and
nearly all have the form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.data.roles.column_words import split_set

GIVEN = split_set("""
    james john robert michael william david richard joseph thomas charles christopher daniel matthew anthony mark donald steven
    paul andrew joshua kenneth kevin brian george edward ronald timothy jason jeffrey ryan jacob gary nicholas eric jonathan
    stephen larry justin scott brandon benjamin samuel gregory frank alexander raymond patrick jack dennis jerry tyler aaron
    jose adam henry nathan douglas zachary peter kyle walter ethan jeremy harold keith christian roger noah gerald carl terry
    sean arthur austin lawrence jesse dylan bryan joe jordan billy bruce albert willie gabriel logan alan juan wayne roy ralph
    randy eugene vincent russell elijah louis bobby philip johnny oliver liam lucas mason harry charlie oscar leo max simon
    martin ian neil graham stuart colin craig hugh bob tom tim jim mike sam ben mary patricia jennifer linda elizabeth barbara
    susan jessica sarah karen lisa nancy betty margaret sandra ashley kimberly emily donna michelle carol amanda dorothy melissa
    deborah stephanie rebecca sharon laura cynthia kathleen amy angela shirley anna brenda pamela emma nicole helen samantha
    katherine christine debra rachel carolyn janet catherine maria heather diane ruth julie olivia joyce virginia victoria kelly
    lauren christina joan evelyn judith megan andrea cheryl hannah jacqueline martha gloria teresa ann sara madison frances
    kathryn janice jean abigail alice julia judy sophia grace denise amber doris marilyn danielle beverly isabella theresa diana
    natalie brittany charlotte marie kayla alexis lori ella lily chloe mia ava zoe lucy kate jane eve claire eleanor fiona nora
    ivy hans klaus wolfgang jürgen juergen dieter manfred uwe günter guenter horst bernd heinz stefan andreas markus matthias
    jörg joerg ralf sven torsten thorsten jan lars tobias florian sebastian felix jonas lukas finn moritz niklas philipp karl
    friedrich heinrich wilhelm otto hermann fritz kurt rolf gerhard werner helmut rainer volker holger dirk jens kai maximilian
    fabian ursula monika petra sabine renate helga karin brigitte ingrid gisela heike gabriele claudia susanne birgit martina
    stefanie anja katrin kathrin silke tanja melanie lena lea leonie sophie johanna greta frieda inge jutta elke anke antje
    kerstin bettina cornelia ulrike katharina elisabeth franziska jana nina ute pierre michel andré andre philippe alain jacques
    bernard marcel rené rene françois francois claude gérard gerard christophe nicolas julien antoine maxime hugo théo theo
    mathieu guillaume olivier laurent pascal thierry frédéric frederic sébastien étienne etienne yves benoît luc marc nathalie
    isabelle sylvie martine françoise francoise monique céline celine sandrine valérie valerie véronique veronique aurélie
    aurelie camille manon léa chloé inès élodie elodie amélie margaux juliette hélène helene josé antonio manuel francisco
    javier carlos jesús jesus alejandro miguel rafael pedro pablo ángel angel sergio fernando jorge luis alberto álvaro alvaro
    diego adrián adrian raúl raul enrique ramón ramon vicente iván ivan rubén óscar andrés andres carmen maría josefa isabel
    dolores pilar ana francisca antonia mercedes cristina marta lucía lucia elena concepción rosario juana raquel rosa beatriz
    sofía sofia paula valentina camila daniela gabriela ximena fernanda lorena silvia mónica alejandra giuseppe giovanni mario
    luigi francesco angelo vincenzo pietro salvatore carlo franco domenico bruno paolo michele giorgio aldo luciano marco
    alessandro matteo lorenzo davide riccardo simone federico stefano roberto luca giulia chiara francesca alessia giorgia elisa
    giovanna caterina paola federica ilaria joão joao antônio paulo luiz marcos luís marcelo eduardo felipe raimundo rodrigo
    thiago tiago adriana juliana márcia patrícia aline bruna jéssica letícia júlia luciana vanessa sergei sergey dmitri dmitry
    alexei andrei mikhail nikolai vladimir igor oleg boris yuri viktor pavel anton maxim roman denis kirill olga natalia tatiana
    irina svetlana ekaterina anastasia yulia oksana galina lyudmila nadezhda vera daria polina иван сергей дмитрий алексей
    андрей михаил николай владимир александр игорь олег борис юрий виктор павел антон максим роман денис кирилл пётр петр артём
    артем егор никита илья константин евгений василий григорий фёдор ольга наталья татьяна ирина светлана елена екатерина
    анастасия юлия оксана галина людмила надежда вера дарья полина мария анна ксения софья алина виктория александра марина
    лариса mohammed muhammad mohamed ahmed ali hassan hussein omar khalid ibrahim yusuf abdullah mustafa mahmoud fatima aisha
    zainab maryam layla noor yasmin amina khadija salma mehmet emre burak can deniz ayşe fatma elif zeynep merve hatice murat
    hakan raj amit rahul sanjay vijay anil sunil arjun rohan priya anjali neha pooja sunita kavita deepak suresh ramesh lakshmi
    ananya aarav wei li ming jing hui yan xin yu fang lei jun hao chen lin yuki hiroshi kenji takashi akira sakura yoko haruto
    yui minjun seoyeon jiwoo piotr krzysztof andrzej tomasz paweł pawel michał marcin jakub katarzyna małgorzata malgorzata
    agnieszka ewa krystyna joanna magdalena erik anders johan nils kristina anneli gustaf björn bjorn astrid freja maja elsa
    zbigniew stanisław stanislaw wiesław bożena grażyna halina barbara danuta jadwiga wojciech grzegorz łukasz mateusz kacper
    zuzanna aleksandra josef václav vaclav zdeněk miroslav hana věra alena lenka kateřina radek ondřej vojtěch mihai ion gheorghe
    andreea ioana alexandru giorgos dimitris kostas nikos eleni katerina vasiliki oleksandr olena andriy tetyana lars mette
    søren soren mikkel rasmus kirsten hanne ole knut øyvind sigrid gunnar håkon liv mikko juha timo jari matti antti päivi
    anneli tuula emil linnéa linnea elin axel sofie femke bram sander thijs lotte anouk joost kees ilse marek thandiwe sipho
    kwame ama chidi ngozi amara oluwaseun budi siti dewi agus putri nguyen minh anh aoife siobhan ciara niamh rashid imran bilal
    nguyễn trần phạm hoàng huỳnh phan võ đặng bùi đỗ محمد أحمد احمد علي حسن حسين عمر خالد إبراهيم ابراهيم يوسف عبدالله مصطفى محمود
    فاطمة عائشة زينب مريم ليلى نور سارة γιώργος γιάννης νίκος κώστας δημήτρης μαρία ελένη κατερίνα βασιλική σοφία αικατερίνη
    pieter willem sanne daan zoltan istván istvan lászló laszlo attila ágnes agnes katalin jiri jiří petr tomáš tomas eva lucie
    """)
_HAN_FAMILY = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董潘袁于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严"
)
_JAPANESE_FAMILY = split_set("""
    佐藤 鈴木 高橋 田中 伊藤 渡辺 渡邊 山本 中村 小林 加藤 吉田 山田 佐々木 山口 松本 井上 木村 斎藤 清水 山崎 阿部 池田 橋本 石川
    中島 前田 藤田 後藤 小川 岡田 村上 長谷川 近藤 石井 坂本 遠藤 藤井 青木 福田 三浦 西村 藤原 太田 松田 原田 岡本 中野 中川 小野
    """)
_TITLES = split_set(
    "mr mrs ms miss dr prof sir herr frau m mme mlle sr sra sig dott don doña dona г-н г-жа"
)
_NO_PEOPLE = split_set("""
    san santa saint st ste los las el la new old fort port lake mount north south east west rio santo são sankt bad den the le
    upper lower
    """)
_PARTICLES = split_set("von van de der den del della di da dos bin al el la le ter ten zu af y e")
_RUSSIAN = re.compile(
    r"[а-яё]+(ов|ев|ёв|ин|ын|ский|цкий|ова|ева|ёва|ина|ына|ская|цкая|ко|ук|юк|вич|вна|чна)",
    re.IGNORECASE,
)
_FAMILY = re.compile(
    r"[^\W\d_]+(ski|ska|cki|cka|dzki|dzka|wicz|czyk|ić|ič|ević|ová|enko|escu|sson|ssen|nsen|dóttir|poulos|idis|akis|shvili|oğlu)",
    re.IGNORECASE,
)
"""Endings of family names in Latin script."""
_WORD = re.compile(r"[^\W\d_][^\W\d_'’\-]*(?:['’\-][^\W\d_]+)*\.?")

_FEWEST = 3
_FORM, _KNOWN, _KNOWN_ALONE = 0.8, 0.25, 0.6


def are_names(values: Sequence[str], *, named: bool = False) -> bool:
    """Whether values are personal names; with `named`, the column's name says so and the form is
    enough.
    """
    if len(values) < _FEWEST:
        return False
    if sum(_is_han_name(value) for value in values) >= _FORM * len(values):
        return named or len(values) >= 8
    split = [_split_name(value) for value in values]
    full = [words for words in split if words and 2 <= len(words) <= 5]
    if len(full) >= _FORM * len(values):
        return named or sum(_has_given(words) for words in full) >= _KNOWN * len(values)
    single = [words[0] for words in split if words and len(words) == 1]
    if named:
        return len(single) + len(full) >= _FORM * len(values)
    known = sum(word in GIVEN for word in single) + sum(_has_given(words) for words in full)
    return len(values) >= 5 and known >= _KNOWN_ALONE * len(values)


def _split_name(value: str) -> list[str] | None:
    """The words of a name in lower case, without titles; None if this cannot be a name."""
    found = []
    for word in value.replace(",", " ").split():
        if not _WORD.fullmatch(word):
            return None
        if not (word[0].isupper() or word in _PARTICLES or word == word.lower()):
            return None
        plain = word.rstrip(".").lower()
        if plain not in _TITLES:
            found.append(plain)
    return found


def _has_given(words: list[str]) -> bool:
    if words[0] in _NO_PEOPLE:
        return False
    family_first = any(_RUSSIAN.fullmatch(word) for word in words) and len(words) >= 2
    family_last = len(words) >= 2 and _FAMILY.fullmatch(words[-1]) is not None
    return words[0] in GIVEN or words[-1] in GIVEN or family_first or family_last


def _is_han_name(value: str) -> bool:
    plain = value.replace(" ", "").replace("\u3000", "")
    if 3 <= len(plain) <= 6 and (plain[:2] in _JAPANESE_FAMILY or plain[:3] in _JAPANESE_FAMILY):
        return True
    return (
        2 <= len(value) <= 4
        and all("\u4e00" <= letter <= "\u9fff" for letter in value)
        and value[0] in _HAN_FAMILY
    )
