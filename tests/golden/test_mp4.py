"""MP4 of one video track as FFmpeg and GStreamer read it: each picture of the stream is in it, bit for bit,
and what it says of them is what FFmpeg's own muxer says."""

import json
import struct
import subprocess

import pytest

import programs
from ffmpeg import complaints

FPS, FRAMES = 25, 40
# Odd sizes, which are cropped; pixels that are not square; another range and colours.
H264 = ["-c:v", "libx264", "-preset", "veryfast", "-bf", "0", "-g", "12", "-x264-params", "aud=1"]
H265 = ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "aud=1:bframes=0:keyint=12:log-level=1"]
COLOURS = ["-color_range", "pc", "-color_primaries", "bt709", "-color_trc", "iec61966-2-1",
           "-colorspace", "smpte170m"]
STREAMS = {
    "h264": (320, 240, H264),
    "h264 main": (322, 242, H264 + ["-profile:v", "main", "-vf", "setsar=16/11"] + COLOURS),
    "h264 high 4:4:4": (160, 98, H264 + ["-pix_fmt", "yuv444p"]),
    "h265": (320, 240, H265),
    "h265 cropped": (322, 242, H265 + ["-vf", "setsar=4/3"] + COLOURS),
    "h265 10 bits, small blocks": (640, 362, H265 + ["-pix_fmt", "yuv420p10le", "-preset", "medium"]),
}


def ffmpeg(*words):
    return subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *map(str, words)], check=True,
                          capture_output=True).stdout


def pictures(path, *before):
    """Size and hash of each picture."""
    text = ffmpeg(*before, "-i", path, "-f", "framemd5", "-").decode()
    return [line.split(",")[4:] for line in text.splitlines() if not line.startswith("#")]


def times(path):
    text = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "packet=pts_time,duration_time,flags",
                           "-of", "json", path], check=True, capture_output=True).stdout
    return json.loads(text)["packets"]


def described(path):
    fields = ("codec_tag_string,profile,level,width,height,sample_aspect_ratio,display_aspect_ratio,pix_fmt,"
              "color_range,color_space,color_transfer,color_primaries,extradata_hash,avg_frame_rate")
    text = subprocess.run(["ffprobe", "-v", "error", "-show_data_hash", "md5", "-show_entries",
                           f"stream={fields}:stream_tags=handler_name,creation_time", "-of", "json", path],
                          check=True, capture_output=True, text=True)
    assert not complaints(text.stderr)
    return json.loads(text.stdout)["streams"][0]


def boxes(data):
    """The outermost ones."""
    found = []
    while data:
        size, kind = struct.unpack(">I4s", data[:8])
        if size == 1:
            size, = struct.unpack(">Q", data[8:16])
        assert 8 <= size <= len(data)
        found.append((kind.decode(), data[:size]))
        data = data[size:]
    return found


class Stream:
    def __init__(self, folder, codec, width, height, options):
        self.folder, self.codec = folder, codec
        self.raw = folder / f"raw.{codec}"
        ffmpeg("-f", "lavfi", "-i", f"testsrc2=s={width}x{height}:r={FPS}", "-frames:v", FRAMES,
               "-pix_fmt", "yuv420p", *options, "-f", "hevc" if codec == "h265" else codec, self.raw)
        self.pictures = pictures(self.raw, "-f", "hevc" if codec == "h265" else codec)
        assert len(self.pictures) == FRAMES

    def write(self, kind):
        """Writes it, and returns the file and the name of its codec."""
        path = self.folder / f"{kind}.mp4"
        result = subprocess.run([programs.WRITE_MP4, self.codec, kind, str(FPS), "front/plain", path],
                                stdin=self.raw.open("rb"), capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return path, result.stdout.strip()


@pytest.fixture(scope="module", params=STREAMS)
def stream(request, tmp_path_factory):
    return Stream(tmp_path_factory.mktemp("mp4"), request.param[:4], *STREAMS[request.param])


@pytest.mark.parametrize("kind", ["stream", "part", "whole"])
def test_ffmpeg_finds_every_picture_at_its_time(stream, kind):
    path, _ = stream.write(kind)
    assert pictures(path) == stream.pictures
    found = times(path)
    assert [float(packet["pts_time"]) for packet in found] == [n / FPS for n in range(FRAMES)]
    assert {float(packet["duration_time"]) for packet in found} == {1 / FPS}
    assert [n for n in range(FRAMES) if "K" in found[n]["flags"]] == [0, 12, 24, 36]


def test_the_track_says_what_ffmpegs_muxer_says(stream):
    """Except that FFmpeg's hvcC has how a picture may be cut for threads, and SEI messages."""
    path, codecs = stream.write("whole")
    tag = "avc1" if stream.codec == "h264" else "hvc1"
    ffmpeg("-r", FPS, "-i", stream.raw, "-c", "copy", "-tag:v", tag, stream.folder / "ffmpeg.mp4")
    got, expected = described(path), described(stream.folder / "ffmpeg.mp4")
    assert got["tags"] == {"handler_name": "front/plain", "creation_time": "2027-01-15T08:00:00.000000Z"}
    for one in (got, expected):
        one.pop("tags")
        if stream.codec == "h265":
            one.pop("extradata_hash")
    assert got == expected
    assert codecs.startswith(tag + ".")


def test_gstreamer_finds_every_picture(stream):
    path, _ = stream.write("whole")
    parser = "h265parse" if stream.codec == "h265" else "h264parse"
    again = stream.folder / f"again.{stream.codec}"
    subprocess.run(["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", "qtdemux", "!", parser, "!",
                    "video/x-" + stream.codec + ",stream-format=byte-stream", "!", "filesink",
                    f"location={again}"], check=True)
    assert pictures(again) == stream.pictures


def test_a_finished_file_is_one_mdat_and_its_table(stream):
    part, whole = (stream.write(kind)[0].read_bytes() for kind in ("part", "whole"))
    assert [kind for kind, _ in boxes(part)] == ["ftyp", "free", "moov"] + 4 * ["prft", "moof", "mdat"]
    assert [kind for kind, _ in boxes(whole)] == ["ftyp", "mdat", "moov"]
    head = len(boxes(part)[0][1]) + 16
    assert whole[head : len(part)] == part[head:]


def test_a_file_that_was_cut_off_plays_up_to_its_last_whole_fragment(stream):
    path, _ = stream.write("part")
    data = path.read_bytes()
    last = len(boxes(data)[-1][1])
    for cut in (1, last - 9, last + 60):
        path.write_bytes(data[: len(data) - cut])
        command = ["ffmpeg", "-nostdin", "-v", "quiet", "-i", path, "-frames:v", "36", "-f", "framemd5", "-"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = [line.split(",")[4:] for line in text.splitlines() if not line.startswith("#")]
        assert found == stream.pictures[:36]


def test_each_fragment_has_the_clock_of_day(stream):
    """Seconds since 1900 and their fractions, beside the time of its first picture (14496-12, 8.16.5)."""
    clocks = [body for kind, body in boxes(stream.write("part")[0].read_bytes()) if kind == "prft"]
    for index, body in enumerate(clocks):
        track, seconds, fraction, time = struct.unpack(">IIIQ", body[12:])
        assert (track, time) == (1, index * 12 * 90000 // FPS)
        captured = seconds - 2208988800 + fraction / 2**32
        assert captured == pytest.approx(1800000000 + index * 12 / FPS, abs=1e-6)


def test_the_name_of_the_codec_is_what_rfc_6381_makes_of_the_sets(tmp_path):
    """The examples of MDN's page of codecs, whose profiles and levels these encoders are told."""
    high = ["-profile:v", "high", "-level", "3.1"]
    assert Stream(tmp_path, "h264", 320, 240, H264 + high).write("part")[1] == "avc1.64001F"
    main = ["-x265-params", "aud=1:bframes=0:level-idc=31:log-level=1"]
    assert Stream(tmp_path, "h265", 320, 240, H265 + main).write("part")[1].startswith("hvc1.1.6.L93.")
