"""How many pixels an encoded image will decode to, from its headers alone.

A few hundred bytes can decode to gigabytes, so the server asks here before TensorFlow decodes. The formats are the five that
`zoo.decode_image` tells apart by the same first bytes.
"""

import struct

# start-of-frame markers of JPEG: C0 to CF without DHT (C4), JPG (C8) and DAC (CC)
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# markers that stand alone, without a length: TEM, RST0 to RST7, SOI
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD9)})


def count_pixels(data: bytes) -> int:
    """Return the pixels that an image will decode to, all frames of an animation together; 0 when the data are no image or cut short."""
    try:
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            width, height = struct.unpack_from(">II", data, 16)
            return width * height
        if data.startswith(b"GIF8"):
            return _gif(data)
        if data.startswith(b"RIFF"):
            return _webp(data)
        if data.startswith(b"BM"):
            width, height = struct.unpack_from("<ii", data, 18)
            return abs(width) * abs(height)
    except (struct.error, IndexError):
        return 0
    return 0


def _jpeg(data: bytes) -> int:
    position = 2
    while True:
        if data[position] != 0xFF:
            # bytes between segments are passed over, as libjpeg does
            position = data.find(0xFF, position)
            if position < 0:
                return 0
            continue
        marker = data[position + 1]
        if marker == 0xFF:  # fill byte
            position += 1
        elif marker == 0 or marker in _JPEG_BARE:
            position += 2
        elif marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, position + 5)
            return width * height
        else:
            (length,) = struct.unpack_from(">H", data, position + 2)
            position += 2 + length


def _gif(data: bytes) -> int:
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    position = 13 + _colour_table(flags)
    total = frames = 0
    # a file that ends early counts as far as it goes: what follows cannot be decoded
    while position < len(data) and data[position] != 0x3B:
        if data[position] == 0x2C and position + 10 <= len(data):
            frame_width, frame_height, flags = struct.unpack_from("<HHB", data, position + 5)
            total += max(frame_width * frame_height, width * height)
            frames += 1
            position = _past_blocks(data, position + 10 + _colour_table(flags) + 1)
        elif data[position] == 0x21:
            position = _past_blocks(data, position + 2)
        else:
            break
    return total if frames else width * height


def _colour_table(flags: int) -> int:
    return 3 * 2 ** ((flags & 7) + 1) if flags & 0x80 else 0


def _past_blocks(data: bytes, position: int) -> int:
    while position < len(data) and data[position]:
        position += 1 + data[position]
    return position + 1


def _webp(data: bytes) -> int:
    pixels = frames = 0
    position = 12
    while position + 8 <= len(data):
        (length,) = struct.unpack_from("<I", data, position + 4)
        pixels = max(pixels, _webp_chunk(data, position))
        frames += data[position : position + 4] == b"ANMF"
        position += 8 + length + length % 2
    return pixels * max(frames, 1)


def _webp_chunk(data: bytes, position: int) -> int:
    """Return the pixels that a chunk's own header tells; 0 for a chunk without one."""
    kind, start = data[position : position + 4], position + 8
    if kind == b"VP8X":  # the canvas: width and height less one, three bytes each
        width, height = (int.from_bytes(data[start + at : start + at + 3], "little") + 1 for at in (4, 7))
    elif kind == b"VP8L":  # a byte of signature, then 14 bits each, less one
        (bits,) = struct.unpack_from("<I", data, start + 1)
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif kind == b"VP8 ":  # three bytes of frame tag, three of start code, then 14 bits each and two of scale
        width, height = (size & 0x3FFF for size in struct.unpack_from("<HH", data, start + 6))
    else:
        return 0
    return width * height
