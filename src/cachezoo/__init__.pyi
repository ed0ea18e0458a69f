from cachezoo.api import Picture as Picture
from cachezoo.api import Result as Result
from cachezoo.api import compare as compare
from cachezoo.api import curve as curve
from cachezoo.api import flash as flash
from cachezoo.api import own as own
from cachezoo.api import read as read
from cachezoo.api import recommend as recommend
from cachezoo.api import share as share
from cachezoo.api import simulate as simulate
from cachezoo.api import size as size
from cachezoo.api import wear as wear

__version__: str
