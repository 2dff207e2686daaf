import { type RunningGateway, startGateway } from '../gateway.fixture'

const REFERENCE = 'b3c1f0de-0000-4000-8000-00000000000a'

let gateway: RunningGateway
let text: string
let asked: string[] = []

beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      retrieveLeads: async ({ leads }) => {
        asked.push(...leads.map(({ reference }) => reference))
        return {
          results: leads.map(({ reference }) => ({
            result: { $case: 'body', value: Buffer.from(text.replace('REFERENCE', reference)) },
          })),
        }
      },
    },
  })
})
afterAll(() => gateway.stop())

test('long texts and short ones arrive byte for byte', async () => {
  for (const size of [1, 2000, 2100, 100_000]) {
    text = JSON.stringify('é😀x'.repeat(size))
    expect((await gateway.send({ url: `/leads/${REFERENCE}` })).body).toBe(text)
  }
})

test('a lead that is requested many times at once is read once, and each request gets its own lead', async () => {
  text = 'REFERENCE'
  asked = []
  const other = REFERENCE.replace('a', 'b')
  const wanted = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? REFERENCE : other))
  const answers = await Promise.all(wanted.map((reference) => gateway.send({ url: `/leads/${reference}` })))
  expect(answers.map(({ body }) => body)).toEqual(wanted)
  // Two reads would be enough for the two leads. More reads are allowed, because the first batches may be
  // sent before all requests have arrived.
  expect(asked.length).toBeLessThan(wanted.length / 2)
})
