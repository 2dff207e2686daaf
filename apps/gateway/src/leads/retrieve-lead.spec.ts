import { type RunningGateway, startGateway } from '../gateway.fixture'

const REFERENCE = 'b3c1f0de-0000-4000-8000-00000000000a'

let gateway: RunningGateway
let text: string

beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      retrieveLeads: async ({ leads }) => ({
        results: leads.map(() => ({ result: { $case: 'body', value: Buffer.from(text) } })),
      }),
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
