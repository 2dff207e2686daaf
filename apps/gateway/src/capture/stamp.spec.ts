import type { CreateLead } from '@leadwire/contracts'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const FORM = {
  ...{ first_name: 'Ada', last_name: 'Byron', email: 'a@example.com', phone: '020 7946 0000' },
  postcode: 'SW1A 1AA',
}

const created: CreateLead[] = []
const clock = { now: 1_800_000_000_000 }
let gateway: RunningGateway
beforeAll(async () => {
  const createLeads = async ({ leads }: { leads: CreateLead[] }) => {
    created.push(...leads)
    const value = Buffer.from('{"data":{"reference":"r"}}')
    return { results: leads.map(() => ({ result: { $case: 'body' as const, value } })) }
  }
  gateway = await startGateway({ leads: { createLeads } }, { now: () => clock.now })
})
afterAll(() => gateway.stop())

const stampOf = async (token: string) =>
  (await gateway.send({ url: `/capture/${token}/stamp` })).json().data.stamp as string

const statusWith = async (stamp: string) => {
  const payload = { ...FORM, stamp }
  expect((await gateway.send({ method: 'POST', url: '/capture/form', payload })).statusCode).toBe(200)
  return created.at(-1)!.lead!.status
}

test.each([
  [0, 'spam'],
  [1999, 'spam'],
  [2000, 'open'],
  [365 * 86_400_000, 'open'],
])('a form %i ms after its stamp is %s', async (ms, status) => {
  const stamp = await stampOf('form')
  clock.now += ms
  expect(await statusWith(stamp)).toBe(status)
})

test('the stamp of another token is none', async () => {
  const stamp = await stampOf('other-form')
  clock.now += 5000
  expect(await statusWith(stamp)).toBe('spam')
  expect(await statusWith('')).toBe('open')
})
