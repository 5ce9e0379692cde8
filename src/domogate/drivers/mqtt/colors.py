"""Converts colours: chromaticity (CIE 1931 x, y) and red, green, blue to hue and saturation, and back."""

import colorsys

# XYZ to linear sRGB with white point D65 and back (IEC 61966-2-1).
_TO_RGB = ((3.2406, -1.5372, -0.4986), (-0.9689, 1.8758, 0.0415), (0.0557, -0.2040, 1.0570))
_TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))


def hue_and_saturation(x: float, y: float) -> tuple[float, float]:
    """Return the hue (0..360) and the saturation (0..100) of the chromaticity at full brightness. `y` is greater than 0."""
    xyz = (x / y, 1.0, (1.0 - x - y) / y)
    linear = [max(0.0, sum(factor * part for factor, part in zip(row, xyz, strict=True))) for row in _TO_RGB]
    brightest = max(linear) or 1.0
    red, green, blue = (_with_gamma(part / brightest) for part in linear)
    return hue_and_saturation_of_rgb(red, green, blue)


def hue_and_saturation_of_rgb(red: float, green: float, blue: float) -> tuple[float, float]:
    """Return the hue (0..360) and the saturation (0..100). `red`, `green` and `blue` have the same scale, for example 0..1."""
    hue, saturation, _ = colorsys.rgb_to_hsv(red, green, blue)
    return round(hue * 360, 1), round(saturation * 100, 1)


def rgb(hue: float, saturation: float) -> tuple[int, int, int]:
    """Return red, green and blue (0..255) of the colour at full brightness."""
    red, green, blue = (round(part * 255) for part in colorsys.hsv_to_rgb(hue / 360, saturation / 100, 1.0))
    return red, green, blue


def chromaticity(hue: float, saturation: float) -> tuple[float, float]:
    """Return the chromaticity (x, y) of the colour."""
    linear = [_without_gamma(part) for part in colorsys.hsv_to_rgb(hue / 360, saturation / 100, 1.0)]
    xyz = [sum(factor * part for factor, part in zip(row, linear, strict=True)) for row in _TO_XYZ]
    return round(xyz[0] / sum(xyz), 4), round(xyz[1] / sum(xyz), 4)


def _with_gamma(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def _without_gamma(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
