import { DownloadResponse, FilesServiceDefinition, UploadRequest, uploadRequestParts } from './index'

const { requestType } = FilesServiceDefinition.methods.upload
const { responseType } = FilesServiceDefinition.methods.download

const chunkOf = (size: number) => ({
  part: { $case: 'chunk' as const, value: Buffer.alloc(size, 'abc') },
})

describe.each([0, 1, 127, 128, 16_383, 16_384, 65_536, 3_000_000])('a chunk of %i bytes', (size) => {
  const message = chunkOf(size)
  const wire = Buffer.from(UploadRequest.encode(message).finish())

  test('goes over the wire as protobuf says', () => {
    expect(Buffer.from(requestType.encode(message).finish()).equals(wire)).toBe(true)
    expect(Buffer.from(responseType.encode(message).finish()).equals(wire)).toBe(true)
    expect(Buffer.concat(uploadRequestParts(message)).equals(wire)).toBe(true)
  })

  test.each([requestType, responseType])('is read as it was sent', (type) => {
    const { part } = type.decode(wire)
    expect(part?.$case).toBe('chunk')
    expect(message.part.value.equals(part!.value as Buffer)).toBe(true)
  })
})

test('other messages are what they were', () => {
  const start = UploadRequest.fromPartial({
    part: { $case: 'start', value: { collection: 'images', maxBytes: 9 } },
  })
  expect(requestType.decode(requestType.encode(start).finish())).toEqual(start)
  expect(requestType.decode(Buffer.concat(uploadRequestParts(start)))).toEqual(start)
  const size = DownloadResponse.fromPartial({ part: { $case: 'size', value: 300 } })
  expect(responseType.decode(responseType.encode(size).finish())).toEqual(size)
})

test('a message that is more or less than its chunk is read by the book', () => {
  const wire = Buffer.from(UploadRequest.encode(chunkOf(300)).finish())
  const twice = Buffer.concat([wire, Buffer.from(UploadRequest.encode(chunkOf(5)).finish())])
  expect(requestType.decode(twice)).toEqual(chunkOf(5))
  expect(() => requestType.decode(wire.subarray(0, 100))).toThrow()
})
