"""RTP and RTCP by hand, as strict as RFC 3550 and RFC 6184, whose sections stand in parentheses."""

import collections
import struct

PAYLOAD_MAX = 1400
IDR, SEI, SPS, PPS, STAP_A, FU_A = 5, 6, 7, 8, 24, 28

Packet = collections.namedtuple("Packet", "marker type sequence timestamp ssrc payload")
SenderReport = collections.namedtuple("SenderReport", "ssrc wall_s timestamp packets octets")
Unit = collections.namedtuple("Unit", "timestamp packets nals")  # an access unit


def parse_packet(data):
    """An RTP packet without padding, extension or contributing sources (3550, 5.1)."""
    assert len(data) > 12, data
    first, second, sequence, timestamp, ssrc = struct.unpack("!BBHII", data[:12])
    assert first == 0x80, f"version 2 and nothing else: {first:#x}"
    assert len(data) - 12 <= PAYLOAD_MAX, f"{len(data) - 12} bytes of payload"
    return Packet(bool(second & 0x80), second & 0x7F, sequence, timestamp, ssrc, data[12:])


def parse_rtcp(data):
    """The packets of a compound packet (3550, 6.1): [(type, count, body), …]."""
    packets, at = [], 0
    while at < len(data):
        first, kind, words = struct.unpack("!BBH", data[at : at + 4])
        assert first & 0xE0 == 0x80, f"version 2 without padding: {first:#x}"
        end = at + 4 * (words + 1)
        assert end <= len(data), "a packet longer than the compound"
        packets.append((kind, first & 0x1F, data[at + 4 : end]))
        at = end
    assert packets and packets[0][0] in (200, 201), f"it begins with a report: {packets}"
    assert any(kind == 202 for kind, _, _ in packets), f"it has an SDES: {packets}"
    return packets


def sender_report(packets):
    kind, count, body = packets[0]
    assert kind == 200 and count == 0 and len(body) == 24, packets
    ssrc, seconds, fraction, timestamp, sent, octets = struct.unpack("!6I", body)
    return SenderReport(ssrc, seconds - 2208988800 + fraction / 2**32, timestamp, sent, octets)


def cname(packets, ssrc):
    """Of the one source that the SDES names (3550, 6.5)."""
    _, count, body = next(packet for packet in packets if packet[0] == 202)
    source, item, length = struct.unpack("!IBB", body[:6])
    assert (count, source, item) == (1, ssrc, 1), body
    assert set(body[6 + length :]) == {0}, f"items end in zeros: {body}"
    return body[6 : 6 + length].decode("utf-8")


def byes(packets):
    return [struct.unpack("!I", body[:4])[0] for kind, _, body in packets if kind == 203]


def is_next(sequence, before):
    return sequence == (before + 1) % (1 << 16)


def later_by(timestamp, before):
    """How much later a time stamp is: negative where it is earlier."""
    return (timestamp - before + (1 << 31)) % (1 << 32) - (1 << 31)


def parse_unit(packets):
    """The NAL units of an access unit's packets (6184, 5.6 to 5.8)."""
    assert len({packet.timestamp for packet in packets}) == 1, "one time stamp an access unit"
    markers = [packet.marker for packet in packets]
    assert markers == [False] * (len(packets) - 1) + [True], f"markers {markers} (5.1)"
    nals, fragments = [], None
    for packet in packets:
        kind = packet.payload[0] & 0x1F
        assert packet.payload[0] & 0x80 == 0, "the forbidden bit"
        assert kind == FU_A or fragments is None, "fragments are sent one behind the other"
        if kind == FU_A:
            fragments = _take_fragment(packet.payload, fragments, nals)
        elif kind == STAP_A:
            nals += _parse_aggregate(packet.payload)
        else:
            assert 1 <= kind <= 23, f"packetization-mode 1 has no type {kind}"
            nals.append(packet.payload)
    assert fragments is None, "the last fragment is lacking"
    return Unit(packets[0].timestamp, packets, nals)


def _take_fragment(payload, fragments, nals):
    """Returns the fragments so far; None when the NAL unit is whole."""
    start, end = payload[1] & 0x80, payload[1] & 0x40
    assert payload[1] & 0x20 == 0, "the reserved bit"
    assert not (start and end), "one fragment is no fragment"
    assert bool(start) == (fragments is None), "a start bit on the first fragment alone"
    assert len(payload) > 2, "an empty fragment"
    header = bytes([payload[0] & 0xE0 | payload[1] & 0x1F])
    assert fragments is None or fragments[0] == header[0], "another NAL unit's fragment"
    fragments = (fragments or header) + payload[2:]
    if not end:
        return fragments
    nals.append(fragments)
    return None


def _parse_aggregate(payload):
    nals, at = [], 1
    while at < len(payload):
        size = struct.unpack("!H", payload[at : at + 2])[0]
        assert 0 < size <= len(payload) - at - 2, "an aggregate's NAL unit ends within it"
        nals.append(payload[at + 2 : at + 2 + size])
        at += 2 + size
    assert len(nals) > 1, "one NAL unit needs no aggregate"
    assert payload[0] & 0x60 == max(nal[0] & 0x60 for nal in nals), "the highest nal_ref_idc (5.7)"
    return nals


def types(unit):
    return [nal[0] & 0x1F for nal in unit.nals]


def is_key(unit):
    return IDR in types(unit)


OVERTAKEN_MAX = 8  # datagrams, when their sender changes CPUs


class Receiver:
    """Reads a playing Session; every packet is checked against the one before.

    Datagrams that were overtaken are put in their places.
    """

    def __init__(self, session, sequence=None):
        self.session = session
        self.sequence = None if sequence is None else (sequence - 1) % (1 << 16)
        self.timestamp = None
        self.packets = self.octets = 0
        self.reports = []  # (compound packet, packets and octets before it)
        self.unread = []
        self.early = {}  # packets by sequence number, which one before them has yet to come for

    def read_unit(self):
        """The next access unit."""
        while True:
            packet = self.read_packet()
            self.unread.append(packet)
            if packet.marker:
                unit, self.unread = parse_unit(self.unread), []
                assert self.timestamp is None or later_by(unit.timestamp, self.timestamp) > 0
                self.timestamp = unit.timestamp
                return unit

    def read_units(self, count):
        return [self.read_unit() for _ in range(count)]

    def read_packet(self):
        while not (packet := self.read_any()):
            pass
        return packet

    def read_any(self):
        """The next packet of RTP; None where it is of RTCP or not its turn, which is kept."""
        for sequence in self.early:
            if is_next(sequence, self.sequence):
                return self._take(self.early.pop(sequence))
        is_rtcp, data = self.session.read()
        if is_rtcp:
            self.reports.append((parse_rtcp(data), self.packets, self.octets))
            return None
        packet = parse_packet(data)
        if (self.session.receivers and self.sequence is not None
                and not is_next(packet.sequence, self.sequence)):
            self.early[packet.sequence] = packet
            assert len(self.early) <= OVERTAKEN_MAX, f"none follows {self.sequence}: {[*self.early]}"
            return None
        return self._take(packet)

    def read_report(self):
        """The next compound packet of RTCP, with the packets and octets that came before."""
        while not self.reports:
            self.read_unit()
        return self.reports.pop(0)

    def _take(self, packet):
        assert packet.ssrc == self.session.ssrc, "not the SSRC of the Transport header"
        assert self.sequence is None or is_next(packet.sequence, self.sequence), (
            f"sequence number {packet.sequence} follows {self.sequence}"
        )
        self.sequence = packet.sequence
        self.packets += 1
        self.octets += len(packet.payload)
        return packet
