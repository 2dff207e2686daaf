import type { GetLead, GetLeadResult } from '@leadwire/contracts'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const REFERENCE = 'b3c1f0de-0000-4000-8000-00000000000a'

let gateway: RunningGateway
let asked: GetLead[]
let answer: (lead: GetLead) => GetLeadResult

beforeEach(async () => {
  asked = []
  gateway = await startGateway({
    leads: {
      getLeads: async ({ leads }) => {
        asked.push(...leads)
        return { results: leads.map(answer) }
      },
    },
    accounts: {
      verifyTokens: async ({ hashes }) => ({
        results: hashes.map((hash) => ({
          // Each token has an account of its own.
          token: { tokenId: 1, accountId: hash[0]!, scopes: ['leads'], test: false, expiresAtMs: undefined },
        })),
      }),
    },
  })
})
afterEach(() => gateway.stop())

const body = (text: string, version?: string): GetLeadResult => ({
  result: { $case: 'body', value: Buffer.from(text) },
  version,
})

const UNCHANGED: GetLeadResult = { result: { $case: 'unchanged', value: true } }

const retrieve = async (token: string) =>
  (await gateway.send({ url: `/leads/${REFERENCE}`, headers: { authorization: `Bearer ${token}` } })).body

test('a lead that is still of the version that was read is answered from what was read', async () => {
  answer = ({ knownVersion }) => (knownVersion === 'v1' ? UNCHANGED : body('{"data":"première"}', 'v1'))
  expect(await retrieve('a')).toBe('{"data":"première"}')
  expect(await retrieve('a')).toBe('{"data":"première"}')
  expect(asked.map(({ knownVersion }) => knownVersion)).toEqual([undefined, 'v1'])
})

test('a lead that changed is answered as it is now, and known by its new version', async () => {
  const versions = ['v1', 'v2']
  answer = () => (versions.length > 0 ? body(`"${versions[0]}"`, versions.shift()) : UNCHANGED)
  expect([await retrieve('a'), await retrieve('a'), await retrieve('a')]).toEqual(['"v1"', '"v2"', '"v2"'])
  expect(asked.map(({ knownVersion }) => knownVersion)).toEqual([undefined, 'v1', 'v2'])
})

test('what one account read is nothing that another knows', async () => {
  answer = ({ accountId }) => body(`${accountId}`, 'v1')
  const [mine, others] = [await retrieve('a'), await retrieve('b')]
  expect(mine).not.toBe(others)
  expect(asked.map(({ knownVersion }) => knownVersion)).toEqual([undefined, undefined])
})

test('without a version nothing is kept', async () => {
  answer = () => body('{}')
  await retrieve('a')
  await retrieve('a')
  expect(asked.map(({ knownVersion }) => knownVersion)).toEqual([undefined, undefined])
})

test('long texts and short ones arrive byte for byte', async () => {
  for (const size of [1, 2000, 2100, 100_000]) {
    const text = JSON.stringify('é😀x'.repeat(size))
    answer = () => body(text)
    expect(await retrieve('a')).toBe(text)
  }
})
