import { randomUUID } from 'node:crypto'
import { type Actor, Event, FindLeadsRequest } from '@leadwire/contracts'
import { eventually, gate } from '@leadwire/test-kit'
import { catchUp } from '../../jobs/search/index-leads'
import { lockProgress } from '../../jobs/search/write-terms'
import {
  lockWaiters,
  newAccount,
  newItem,
  newLead,
  type RunningLeadsService,
  readOutbox,
  readOutcomes,
  startLeadsService,
  WINDOW_MS,
} from '../../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

interface Note {
  id: number
  text: string
  author: { type: string; id: number; name: string } | null
  created_at: string
  updated_at: string | null
}

const createLead = async (accountId: number, fields = {}): Promise<string> => {
  const items = [newItem(accountId, { lead: newLead(fields) })]
  const [{ reference }] = readOutcomes(await service.leads.createLeads({ leads: items }))
  return reference
}

const scene = async () => {
  const account = await newAccount(service)
  const reference = await createLead(account.accountId)
  return { ...account, reference, key: { accountId: account.accountId, reference } }
}

type Key = { accountId: number; reference: string }

const readData = ({ body }: { body: Uint8Array }): Note => JSON.parse(Buffer.from(body).toString()).data

const add = async (key: Key, text: string, actor?: Actor) =>
  readData(await service.leads.addNote({ ...key, text }, actor ? { actor } : {}))

const update = async (key: Key, id: number, text: string) =>
  readData(await service.leads.updateNote({ ...key, id, text }))

const remove = async (key: Key, id: number) => readData(await service.leads.deleteNote({ ...key, id }))

const list = async (key: Key, before?: number) => {
  const { items, nextBefore } = await service.leads.listNotes({ ...key, before })
  return { notes: JSON.parse(items.toString()) as Note[], nextBefore }
}

/** Adds notes with the texts 1, 2, 3 … directly to the database. */
const fill = ({ accountId, reference }: Key, count: number) =>
  service.db.query({
    text: `INSERT INTO notes (account_id, lead_id, text)
      SELECT $1, id, n FROM leads, generate_series(1, $3::int) n WHERE account_id = $1 AND reference = $2`,
    values: [accountId, reference, count],
  })

const index = (accountId: number) =>
  catchUp({ database: service.db, onCommitted: () => undefined, duplicateWindowMs: WINDOW_MS }, accountId)

/** Returns the references of the leads that a search finds. */
const search = async (accountId: number, q: string): Promise<string[]> => {
  const place = { $case: 'page', value: 1 } as const
  const asked = { accountId, sort: '-created_at', perPage: 20, place, filters: { q } }
  const { items } = await service.leads.findLeads(FindLeadsRequest.fromPartial(asked))
  return (JSON.parse(items.toString()) as { reference: string }[]).map(({ reference }) => reference)
}

test('a note has an author with the present name, is changed and deleted, and is listed newest first', async () => {
  const { accountId, tokenId, key } = await scene()
  const { user } = await service.accounts.createUser({ accountId, email: 'ada@example.test', name: 'Ada' })
  const userId = user!.id
  const byToken: Actor = { tokenId, tokenName: '', requestId: 'one' }
  const first = await add(key, 'Called.\nWants oak.', byToken)
  expect(Object.entries(first)).toEqual(
    Object.entries({
      id: expect.any(Number),
      text: 'Called.\nWants oak.',
      author: { type: 'token', id: tokenId, name: expect.any(String) },
      created_at: expect.stringMatching(/\.\d{6}Z$/),
      updated_at: null,
    }),
  )
  const second = await add(key, 'Sent the offer.', { ...byToken, userId })
  expect(second.author).toEqual({ type: 'user', id: userId, name: 'Ada' })
  expect(await list(key)).toEqual({ notes: [second, first], nextBefore: undefined })

  const changed = await update(key, first.id, 'Wants pine.')
  expect(changed).toEqual({ ...first, text: 'Wants pine.', updated_at: expect.any(String) })
  expect(changed.updated_at! > first.created_at).toBe(true)
  expect(await update(key, first.id, 'Wants pine.')).toEqual(changed)

  await service.accounts.removeUser({ accountId, userId, erase: true })
  const author = { type: 'user', id: userId, name: 'A removed user' }
  expect((await list(key)).notes).toEqual([{ ...second, author }, changed])
  expect(await remove(key, first.id)).toEqual(changed)
  await expect(remove(key, first.id)).rejects.toMatchObject({ code: 'not_found' })
  expect((await list(key)).notes).toEqual([{ ...second, author }])
})

test('an added note is reported in an event; changes and deletions are not, and the lead stays as it is', async () => {
  const { accountId, reference, key } = await scene()
  const retrieve = () => service.leads.retrieveManagedLead(key)
  const before = await retrieve()
  const note = await add(key, 'Called.')
  await update(key, note.id, 'Called twice.')
  await remove(key, note.id)
  expect(await retrieve()).toEqual(before)
  const { items } = await service.leads.listLeadHistory(key)
  expect(JSON.parse(items.toString())).toMatchObject([{ version: 1, action: 'created' }])
  const events = (await readOutbox(service)).filter((event) => event.accountId === accountId)
  expect(events.map(({ type, leadVersion }) => [type, leadVersion])).toEqual([
    ['lead.created', 1],
    ['note.added', 1],
  ])
  expect(JSON.parse(Buffer.from(events[1]!.body).toString())).toEqual({
    type: 'note.added',
    data: { ...note, lead_reference: reference },
  })
  const published = Event.decode(service.committed.at(-1)!.payload)
  expect(published).toMatchObject({ type: 'note.added', match: { status: 'open' } })
})

test('an unknown lead, another lead and another account are not found', async () => {
  const [{ accountId, key }, other] = [await scene(), await scene()]
  const { id } = await add(key, 'Called.')
  const second = { accountId, reference: await createLead(accountId) }
  const foreign = { ...key, accountId: other.accountId }
  for (const wrong of [{ accountId, reference: randomUUID() }, foreign]) {
    await expect(add(wrong, 'Mine.')).rejects.toMatchObject({ code: 'not_found' })
    await expect(list(wrong)).rejects.toMatchObject({ code: 'not_found' })
  }
  for (const wrong of [second, foreign, other.key]) {
    await expect(update(wrong, id, 'Mine.')).rejects.toMatchObject({ code: 'not_found' })
    await expect(remove(wrong, id)).rejects.toMatchObject({ code: 'not_found' })
  }
  expect((await list(second)).notes).toEqual([])
  expect((await list(key)).notes).toMatchObject([{ id, text: 'Called.' }])
})

test('concurrent requests do not exceed the limit of a lead together', async () => {
  const { key, accountId } = await scene()
  await fill(key, 997)
  const settled = await Promise.allSettled(Array.from({ length: 10 }, () => add(key, 'Called.')))
  const refused = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  expect(refused).toHaveLength(7)
  for (const error of refused)
    expect(error).toMatchObject({
      code: 'invalid',
      fieldErrors: {
        notes: ['A lead may not have more than 1,000 notes. Delete notes that are no longer needed.'],
      },
    })
  const texts: string[] = []
  let before: number | undefined
  do {
    const page = await list(key, before)
    texts.push(...page.notes.map(({ text }) => text))
    before = page.nextBefore
  } while (before !== undefined)
  const filled = Array.from({ length: 997 }, (_, index) => String(997 - index))
  expect(texts).toEqual(['Called.', 'Called.', 'Called.', ...filled])
  const { notes } = await list(key)
  await remove(key, notes[0]!.id)
  await add(key, 'There is room again.')
  await add({ accountId, reference: await createLead(accountId) }, 'Another lead has room.')
})

test('concurrent requests with one key add one note', async () => {
  const { key, tokenId } = await scene()
  const idempotency = { tokenId, key: 'note', fingerprint: Buffer.alloc(32, 1) }
  const asked = { ...key, text: 'Called.', idempotency }
  const settled = await Promise.allSettled(Array.from({ length: 20 }, () => service.leads.addNote(asked)))
  const bodies = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value.body] : []))
  for (const result of settled)
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'conflict' })
  expect(new Set(bodies.map(String)).size).toBe(1)
  expect(await service.leads.addNote(asked)).toEqual({ body: bodies[0], replayed: true })
  expect((await list(key)).notes).toHaveLength(1)
})

test('an erasure deletes notes, their search terms and saved responses, and no further note is accepted', async () => {
  const { accountId, tokenId, reference, key } = await scene()
  await index(accountId)
  const idempotency = { tokenId, key: 'note', fingerprint: Buffer.alloc(32, 1) }
  await service.leads.addNote({ ...key, text: 'Unmistakable.', idempotency })
  const { id } = await add(key, 'Called.')
  expect(await search(accountId, 'unmistakable')).toEqual([reference])
  const { body } = await service.leads.eraseLead(key)
  const { erased } = JSON.parse(body.toString()).data as { erased: { what: string; count: number }[] }
  expect(erased).toContainEqual(expect.objectContaining({ store: 'postgresql', what: 'notes', count: 2 }))
  expect((await list(key)).notes).toEqual([])
  expect(await search(accountId, 'unmistakable')).toEqual([])
  const erasedLead = { code: 'lead_erased' }
  await expect(service.leads.addNote({ ...key, text: 'Unmistakable.', idempotency })).rejects.toMatchObject(
    erasedLead,
  )
  await expect(update(key, id, 'Called.')).rejects.toMatchObject(erasedLead)
  await expect(remove(key, id)).rejects.toMatchObject(erasedLead)
})

test('a search finds a lead by the words of its notes, as they are now', async () => {
  const { accountId, reference, key } = await scene()
  await createLead(accountId)
  const early = await add(key, 'Asked about a CONSERVATORY-roof.')
  await index(accountId)
  expect(await search(accountId, 'conserv')).toEqual([reference])
  expect(await search(accountId, 'roof ada')).toEqual([reference])

  const later = await add(key, 'Don’t call before six. Café Noir, 07700 900 461, eva@noir.example')
  for (const q of ["don't", 'cafe noir conservatory', '07700 900461', 'eva@noir.example'])
    expect([q, await search(accountId, q)]).toEqual([q, [reference]])
  await update(key, later.id, 'Call after six.')
  expect(await search(accountId, 'noir')).toEqual([])
  expect(await search(accountId, 'after six roof')).toEqual([reference])
  await remove(key, early.id)
  expect(await search(accountId, 'roof')).toEqual([])
  expect(await search(accountId, 'after six')).toEqual([reference])
  expect(await search(accountId, 'byron')).toHaveLength(2)
})

test('a note that is added while the lead is being indexed is found, too', async () => {
  const { accountId, reference, key } = await scene()
  const [locked, release] = [gate(), gate()]
  const holding = service.db.transaction(async (tx) => {
    await lockProgress(tx, accountId, { skip: false })
    locked.open()
    await release.opened
  })
  await locked.opened
  const adding = add(key, 'Conservatory.')
  await eventually(async () => expect(await lockWaiters(service)).toBe(1))
  const indexing = index(accountId)
  await eventually(async () => expect(await lockWaiters(service)).toBe(2))
  release.open()
  await Promise.all([holding, adding, indexing])
  expect(await search(accountId, 'conservatory')).toEqual([reference])
})

test('a search finds only words of the newest notes, and a long note adds at most 500 terms', async () => {
  const { accountId, reference, key } = await scene()
  await add(key, 'Earliest.')
  await fill(key, 99)
  await index(accountId)
  expect(await search(accountId, 'earliest')).toEqual([reference])
  await add(key, 'Latest.')
  expect(await search(accountId, 'earliest')).toEqual([])
  expect(await search(accountId, 'latest')).toEqual([reference])
  const words = Array.from({ length: 501 }, (_, word) => `x${word + 1000}`).join(' ')
  // The first two texts would take long if their time grew with the square of their length.
  for (const text of ['(+'.repeat(5000), 'a-'.repeat(5000), words]) await add(key, text)
  expect(await search(accountId, 'x1499')).toEqual([reference])
  expect(await search(accountId, 'x1500')).toEqual([])
  const [stored] = await service.db.query<{ count: number }>({
    text: 'SELECT count(*)::int AS count FROM lead_search WHERE account_id = $1',
    values: [accountId],
  })
  expect(stored!.count).toBeGreaterThanOrEqual(500)
  expect(stored!.count).toBeLessThan(530)
})

test('notes make no suspected duplicates, and no leads of a person', async () => {
  const { accountId, reference, key } = await scene()
  const person = { firstName: 'Eva', email: 'eva@noir.example', phone: '07700 900461', postcode: 'M1 1AE' }
  const second = await createLead(accountId, person)
  await index(accountId)
  await add(key, 'Eva Byron, M1 1AE: eva@noir.example or +447700900461')
  expect((await service.leads.listLeadDuplicates({ accountId, reference: second })).suspects).toEqual([])
  for (const asked of [{ email: 'eva@noir.example' }, { phone: '07700 900461' }]) {
    const { references } = await service.leads.findPersonLeads({ accountId, ...asked })
    expect(references).toEqual([second])
  }
  expect(await search(accountId, 'eva')).toEqual([second, reference])
})
