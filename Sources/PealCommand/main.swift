import Peal
