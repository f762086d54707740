// For tsc alone (tests/lint/page.json): names that its browser does not know. An element may have any property: which
// one has which is for the browser to say, and names of our own modules are what tsc looks for.

interface EventTarget { [name: string]: any }
interface Error { [name: string]: any }
interface Array<T> { findLast(test: (each: T) => unknown): T | undefined }

declare class VideoDecoder { [name: string]: any; constructor(heard: object); static isConfigSupported(asked: object): Promise<any> }
declare class EncodedVideoChunk { constructor(unit: object) }
declare var ManagedMediaSource: typeof MediaSource | undefined;
