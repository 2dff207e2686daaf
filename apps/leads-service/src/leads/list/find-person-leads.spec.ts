import { FindPersonLeadsRequest } from '@leadwire/contracts'
import {
  newAccount,
  newItem,
  newLead,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'

let service: RunningLeadsService
beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

type Fields = Parameters<typeof newLead>[0]
type Asked = Parameters<typeof FindPersonLeadsRequest.fromPartial>[0]

const create = async (accountId: number, ...leads: Fields[]) => {
  const made = leads.map((lead) => newItem(accountId, { lead: newLead(lead) }))
  return readOutcomes(await service.leads.createLeads({ leads: made })) as { reference: string }[]
}

const find = (asked: Asked) => service.leads.findPersonLeads(FindPersonLeadsRequest.fromPartial(asked))

test.each<[given: Fields, ...asked: Asked[]]>([
  [
    { phone: '07700 900555 / 020 7946 0777' },
    { phone: '+447700900555' },
    { phone: '020 7946 0777' },
    { phone: '07700 900555 / 020 7946 0777' },
  ],
  [{ mobile: '020 7946 0777, 07700 900555' }, { phone: '07700900555' }, { phone: '02079460777' }],
  [
    { phone: '020 7946 0777 ext 12' },
    { phone: '(020) 7946-0777' },
    { phone: '020 7946 0777 x9' },
    { phone: 'tel:+44-20-7946-0777;ext=12' },
  ],
  [{ phone: '447700900555.0' }, { phone: '+44 (0)7700 900555' }],
  [{ phone: '٠٧٧٠٠ ٩٠٠٥٥٥' }, { phone: '07700 900555' }],
  [{ phone: '++447700900555' }, { phone: '07700 900555' }, { phone: '+44447700900555' }],
  [{ mobile: '+4400447700900555' }, { phone: '+447700900555' }, { phone: '44 44 7700 900555' }],
  [{ phone: '999' }, { phone: '9 9 9' }],
  [{ email: 'Ada@Example.test' }, { email: 'ADA@example.TEST' }],
  [
    { email: 'ada@bücher.example' },
    { email: 'Ada@XN--BCHER-KVA.example' },
    { email: 'ada@BU\u0308CHER.example' },
  ],
  [{ email: 'ada@xn--bcher-kva.example' }, { email: 'ADA@bücher.example' }],
  [{ email: 'ada@xn--bcher-kva.xn--strae-oqa.de' }, { email: 'ada@bücher.straße.de' }],
  [{ email: 'Straße.ΝΙΚΟΣ@example.test' }, { email: 'STRASSE.νικος@example.test' }],
])('a lead with %j is found by each of %j %j %j', async (given, ...asked) => {
  const { accountId } = await newAccount(service)
  const [lead] = await create(accountId, given, { phone: '01632 960999', email: 'other@example.test' })
  const other = (await newAccount(service)).accountId
  await create(other, given)
  for (const each of asked) {
    expect(await find({ accountId, ...each })).toEqual({
      references: [lead!.reference],
      nextBefore: undefined,
    })
  }
})

test('who has the same letters, or digits that begin alike, is somebody else', async () => {
  const { accountId } = await newAccount(service)
  await create(
    accountId,
    { email: 'a.da@example.test', phone: '020 7946 0777' },
    { email: 'àda@example.test', name: 'ada@example.test 02079460123' },
    { email: 'ada@fass.example' },
  )
  for (const asked of [{ email: 'ada@example.test' }, { email: 'ada@faß.example' }])
    expect((await find({ accountId, ...asked })).references).toEqual([])
  for (const phone of ['020 7946 077', '020 7946 0123', '777'])
    expect((await find({ accountId, phone })).references).toEqual([])
})

test('no more is found than twenty at once, and each lead once', async () => {
  const { accountId } = await newAccount(service)
  const twice = { email: 'ada@example.test', phone: '07700 900555', mobile: '07700 900555' }
  const made = await create(accountId, ...Array.from({ length: 23 }, () => twice))
  const newestFirst = made.map(({ reference }) => reference).toReversed()
  const first = await find({ accountId, phone: '07700900555' })
  const second = await find({ accountId, phone: '07700900555', before: first.nextBefore })
  expect([first.references, second.references]).toEqual([newestFirst.slice(0, 20), newestFirst.slice(20)])
  expect(second.nextBefore).toBeUndefined()
})

test('an account whose words are far behind is unavailable, and catches up', async () => {
  const { accountId } = await newAccount(service)
  await service.db.query({
    text: 'UPDATE accounts SET lead_count = 20001 WHERE id = $1',
    values: [accountId],
  })
  await expect(find({ accountId, email: 'ada@example.test' })).rejects.toMatchObject({ code: 'unavailable' })
  expect((await find({ accountId, email: 'ada@example.test' })).references).toEqual([])
})
