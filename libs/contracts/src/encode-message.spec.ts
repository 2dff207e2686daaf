import { encodeMessage } from './encode-message'
import { GetLeadsResponse, NewLead } from './generated/leadwire/leads/v1/leads_service'

const answer = (size: number): GetLeadsResponse => ({
  results: [{ result: { $case: 'body', value: Buffer.alloc(size, 'lead') } }],
})
const alone = (message: GetLeadsResponse) => GetLeadsResponse.encode(message).finish()

test('messages come out one by one as each would alone, in buffers that hold nothing else', () => {
  const sizes = [0, 1, 5_000_000, 200]
  const encoded = sizes.map((size) => encodeMessage(GetLeadsResponse, answer(size)))
  for (const [index, bytes] of encoded.entries())
    expect(Buffer.compare(bytes, alone(answer(sizes[index]!)))).toBe(0)
  expect(encoded.map(({ buffer }) => buffer.byteLength)).toEqual(encoded.map(({ length }) => length))
})

test('a message that can not be encoded leaves nothing of itself in the next', () => {
  const lead = NewLead.fromPartial({ name: 'Kitchen windows', value: 2 ** 40 })
  expect(() => encodeMessage(NewLead, lead)).toThrow('int32')
  expect(Buffer.from(encodeMessage(GetLeadsResponse, answer(3)))).toEqual(Buffer.from(alone(answer(3))))
})
