"""Plain words that synthetic prompts are made of: common ones, most of them one token in most vocabularies."""

from __future__ import annotations

_TEXT = """
about above across after again against air all almost along already also always among animal another answer any
around ask away back ball bank base because bed been before began behind being below best better between big bird
black blue board boat body book both bottom box boy bread bring brother brought brown build business but call came
car care carry case cause center certain chair chance change check child children church city class clear close cloth
cold color come common complete contain cool copy corner cost could count country course cover cross current cut dark
day deal decide deep dinner direct distance doctor does dog done door double down draw drive dry during each early
earth east eat edge effect egg either else empty end energy enough enter even evening ever every exact example eye
face fact fall family far farm fast father feel feet field figure fill final find fine finger finish fire first fish
five floor flow fly follow food foot force forest form forward found four free fresh friend from front fruit full game
garden gave general girl give glass gold good government grass gray great green ground group grow guide half hand
happen happy hard hat have head hear heart heat heavy held help here high hill history hold home hope horse hot hour
house however human hundred hunt idea inch include industry inside interest island job join judge jump just keep key
kind king kitchen knew know known lady lake land language large last late laugh law lay lead learn least leave left
leg length less let letter level life light like line list listen little live local long look lost love low machine
made main major make man many map mark market match matter may mean measure meat member method middle might mile milk
million mind minute miss model modern moment money month moon more morning most mother mountain mouth move much music
must name nation nature near need never new next night north note nothing notice noun now number object ocean office
often oil old once one only open opposite order other our outside over own page paint pair paper part party pass past
path pattern pay people perhaps period person picture piece place plain plan plane plant play point poor position
possible power present press price print problem process produce product provide public pull purpose push question
quick quiet quite radio rain raise range rate reach read ready real reason receive record red region remember report
rest result return rich ride right ring rise river road rock roll room rose round row rule run safe said sail salt
same sand save say scale school science score sea season seat second section seed seem send sense sentence service set
seven several shape share sharp ship shoe shop short should shoulder show side sign silver simple since single sister
sit six size skin sky sleep slow small snow social soft soil some song soon sound south space speak special speed
spend spot spread spring square stand star start state station stay steel step still stone stood stop store story
street strong student study such sugar suit summer sun support sure surface system table tail take talk tall teach
team tell ten test than thank that their then there thick thin thing think third though thought thousand three through
time tiny today together told tone took top total touch toward town track trade train travel tree trip true try turn
twenty type under unit until upon use usual valley value very view village visit voice wait walk wall want war warm
watch water wave way weather week weight well went west what wheel when where which while white whole wide wife wild
will wind window winter wire wish with woman wonder wood word work world would write year yellow young
"""
WORDS: tuple[str, ...] = tuple(_TEXT.split())
