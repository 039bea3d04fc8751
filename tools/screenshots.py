"""Draws what a terminal shows: screenshots.py WIDTHxHEIGHT OUT.png < output of `tmux capture-pane -e -p`"""

import sys

import pyte
from PIL import Image, ImageDraw, ImageFont

FONTS = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono"
SIZE = 28
BACKGROUND, FOREGROUND = "#16181d", "#d7dae0"
COLOURS = {
    "black": "#16181d", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b", "blue": "#61afef",
    "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#d7dae0", "brightblack": "#7d8590",
}


def colour(name: str, default: str) -> str:
    if name == "default":
        return default
    if name in COLOURS:
        return COLOURS[name]
    return f"#{name}" if len(name) == 6 else COLOURS.get(name.removeprefix("bright"), default)


def main() -> None:
    width, height = (int(part) for part in sys.argv[1].split("x"))
    screen = pyte.Screen(width, height)
    pyte.Stream(screen).feed("\r\n".join(sys.stdin.read().rstrip("\n").split("\n")))
    fonts = {bold: ImageFont.truetype(FONTS + ("-Bold" if bold else "") + ".ttf", SIZE) for bold in (False, True)}
    cell, line = round(fonts[False].getlength("M")), round(SIZE * 1.35)
    margin = SIZE
    image = Image.new("RGB", (width * cell + 2 * margin, height * line + 2 * margin), BACKGROUND)
    draw = ImageDraw.Draw(image)
    for row in range(height):
        for column in range(width):
            one = screen.buffer[row][column]
            front, back = colour(one.fg, FOREGROUND), colour(one.bg, BACKGROUND)
            if one.reverse:
                front, back = back, front
            left, top = margin + column * cell, margin + row * line
            if back != BACKGROUND:
                draw.rectangle((left, top, left + cell - 1, top + line - 1), fill=back)
            if one.data.strip():
                draw.text((left, top + (line - SIZE) // 3), one.data, font=fonts[one.bold], fill=front)
    image.quantize(32).save(sys.argv[2], optimize=True)


main()
