"""Converts the chromaticity of Zigbee lamps (CIE 1931 x, y) to hue and saturation."""

import colorsys

# XYZ to linear sRGB with white point D65 (IEC 61966-2-1).
_TO_RGB = ((3.2406, -1.5372, -0.4986), (-0.9689, 1.8758, 0.0415), (0.0557, -0.2040, 1.0570))


def hue_and_saturation(x: float, y: float) -> tuple[float, float]:
    """Return the hue (0..360) and the saturation (0..100) of the chromaticity at full brightness. `y` is greater than 0."""
    xyz = (x / y, 1.0, (1.0 - x - y) / y)
    linear = [max(0.0, sum(factor * part for factor, part in zip(row, xyz, strict=True))) for row in _TO_RGB]
    brightest = max(linear) or 1.0
    red, green, blue = (_with_gamma(part / brightest) for part in linear)
    hue, saturation, _ = colorsys.rgb_to_hsv(red, green, blue)
    return round(hue * 360, 1), round(saturation * 100, 1)


def _with_gamma(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055
