import type { Actor } from '@leadwire/contracts'
import { encodeCursor } from '@leadwire/requests'
import { readActor, ServiceError } from '@leadwire/service-kit'
import { type RunningGateway, retrieveAllBut, startGateway } from '../gateway.fixture'

const REFERENCE = '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'
const MISSING = '00000000-0000-4000-8000-000000000000'
const body = Buffer.from('{}')

let gateway: RunningGateway
let asked: object[]
let actors: (Actor | undefined)[]
beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      listLeadHistory: async (request) => {
        asked.push(request)
        if (request.reference === MISSING) throw new ServiceError('not_found', 'There is no such lead.')
        return {
          items: Buffer.from('[{"version":7}]'),
          nextBefore: request.before === undefined ? 7 : undefined,
        }
      },
      retrieveLeads: retrieveAllBut(MISSING),
      updateLead: async (_request, { metadata }) => {
        actors.push(readActor(metadata))
        return { body }
      },
      createLeads: async ({ leads }) => {
        actors.push(...leads.map(({ actor }) => actor))
        return { results: leads.map(() => ({ result: { $case: 'body', value: body } })) }
      },
    },
  })
})
beforeEach(() => {
  asked = []
  actors = []
})
afterAll(() => gateway.stop())

const get = (query: string, reference = REFERENCE) =>
  gateway.send({ url: `/manage/leads/${reference}/history${query}` })

test('the cursor leads on to the end', async () => {
  const first = await get('')
  expect(first.json()).toEqual({ data: [{ version: 7 }], next_cursor: encodeCursor(7) })
  expect((await get('?cursor=')).json()).toEqual(first.json())
  expect((await get(`?cursor=${encodeCursor(7)}`)).json()).toEqual({
    data: [{ version: 7 }],
    next_cursor: null,
  })
  const lead = { accountId: 3, reference: REFERENCE }
  expect(asked).toEqual([lead, lead, { ...lead, before: 7 }])
})

test.each([
  '?cursor=x',
  '?cursor=7',
  '?cursor=0',
  '?cursor=-1',
  '?cursor=1.5',
  '?cursor=%00',
  '?cursor=9999999999999999',
  '?cursor=7&cursor=8',
])('%s is no cursor', async (query) => {
  const answer = await get(query)
  expect([answer.statusCode, Object.keys(answer.json().errors)]).toEqual([422, ['cursor']])
  expect((await get(query, MISSING)).statusCode).toBe(404)
})

test('a malformed reference is a 404', async () => {
  expect((await get('', 'x')).statusCode).toBe(404)
})

test('whose token asks for a change, and by which request, is passed on with it', async () => {
  const payload = {
    name: 'Windows',
    first_name: 'Ada',
    last_name: 'Lovelace',
    email: 'ada@example.com',
    phone: '020 7946 0123',
    postcode: 'SW1A 1AA',
    referrer: 'Website',
    status: 'open',
  }
  const requests = [
    { method: 'POST', url: '/leads', payload },
    { method: 'POST', url: '/manage/leads', payload },
    { method: 'PATCH', url: `/leads/${REFERENCE}`, payload: { value: 1 } },
  ] as const
  for (const [index, request] of requests.entries())
    await gateway.send({ ...request, headers: { 'x-request-id': `request-${index}` } })
  expect(actors).toEqual(
    requests.map((_, index) => ({ tokenId: 7, tokenName: 'Spec', requestId: `request-${index}` })),
  )
})
