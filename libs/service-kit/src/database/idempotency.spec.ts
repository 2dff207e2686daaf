import type { Idempotency } from '@leadwire/contracts'
import { createDatabase, gate } from '@leadwire/test-kit'
import { createLifecycle } from '../process/lifecycle'
import { createLogger } from '../process/logger'
import { connectDatabase, type Database } from './database'
import { answerUnderKey, resolveKeys, saveAnswers } from './idempotency'

const lifecycle = createLifecycle(createLogger({ service: 'spec', level: 'silent' }))
let server: Awaited<ReturnType<typeof createDatabase>>
let database: Database

beforeAll(async () => {
  server = await createDatabase({ name: 'keys' })
  database = connectDatabase({ url: server.url, poolSize: 4, lifecycle })
  await database.query({
    text: `
      CREATE TABLE idempotency_keys (
        token_id bigint NOT NULL, key text NOT NULL, fingerprint bytea NOT NULL, body bytea NOT NULL,
        lead_reference uuid, created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (token_id, key)
      )`,
  })
})
afterAll(async () => {
  await lifecycle.stop()
  await server.drop()
})
beforeEach(() => database.query({ text: 'TRUNCATE idempotency_keys' }))

const keyed = (key: string, fingerprint = 'the request'): Idempotency => ({
  tokenId: 1,
  key,
  maxAgeS: undefined,
  fingerprint: Buffer.from(fingerprint),
})

const answer = (asked: Idempotency | undefined, work: () => Promise<Buffer>) =>
  database.transaction((tx) => answerUnderKey(tx, asked, work))

const respond = (text: string) => async () => Buffer.from(text)
const fail = async () => {
  throw new Error('the work was done twice')
}

test('a request is done once, and another one under its key is refused', async () => {
  expect(await answer(keyed('a'), respond('first'))).toEqual({ body: Buffer.from('first'), replayed: false })
  expect(await answer(keyed('a'), fail)).toEqual({ body: Buffer.from('first'), replayed: true })
  await expect(answer(keyed('a', 'another'), fail)).rejects.toMatchObject({
    code: 'invalid',
    fieldErrors: { idempotency_key: [expect.any(String)] },
  })
  const anotherTokensKey = { ...keyed('a'), tokenId: 2 }
  expect(await answer(anotherTokensKey, respond('second'))).toMatchObject({ replayed: false })
  expect(await answer(undefined, respond('third'))).toMatchObject({ replayed: false })
})

test('while a request is in flight the others are conflicts; when it fails its key is free', async () => {
  const [begun, ended] = [gate(), gate()]
  const first = answer(keyed('b'), async () => {
    begun.open()
    await ended.opened
    throw new Error('crashed')
  })
  await begun.opened
  await expect(answer(keyed('b'), fail)).rejects.toMatchObject({ code: 'conflict', retryAfterS: 1 })
  ended.open()
  await expect(first).rejects.toThrow('crashed')
  expect(await answer(keyed('b'), respond('second'))).toMatchObject({ replayed: false })
})

test('a saved response is repeated to any number of requests at once', async () => {
  await answer(keyed('c'), respond('first'))
  const [begun, ended] = [gate(), gate()]
  // This transaction holds the lock of the key.
  const holding = database.transaction(async (tx) => {
    await resolveKeys(tx, [keyed('c')])
    begun.open()
    await ended.opened
  })
  await begun.opened
  expect(await answer(keyed('c'), fail)).toMatchObject({ replayed: true })
  ended.open()
  await holding
})

test('an answer that is older than a request accepts is replaced', async () => {
  await answer(keyed('d'), respond('first'))
  await database.query({
    text: `UPDATE idempotency_keys SET created_at = created_at - interval '10 minutes'`,
  })
  expect(await answer({ ...keyed('d'), maxAgeS: 600 }, respond('second'))).toMatchObject({ replayed: false })
  expect(await answer(keyed('d'), fail)).toEqual({ body: Buffer.from('second'), replayed: true })
})

test('a batch resolves each request: of those with one unused key, the first is done', async () => {
  await answer(keyed('e'), respond('saved'))
  await database.transaction(async (tx) => {
    const requests = [keyed('f'), undefined, keyed('e'), keyed('f'), keyed('e', 'another'), keyed('g')]
    const resolved = await resolveKeys(tx, requests)
    expect(resolved).toMatchObject([
      undefined,
      undefined,
      { body: Buffer.from('saved'), replayed: true },
      { code: 'conflict' },
      { code: 'invalid' },
      undefined,
    ])
    saveAnswers(tx, [
      { asked: requests[0]!, body: Buffer.from('f') },
      { asked: requests[5]!, body: Buffer.from('g') },
    ])
  })
  expect(await answer(keyed('f'), fail)).toMatchObject({ body: Buffer.from('f') })
  expect(await answer(keyed('g'), fail)).toMatchObject({ body: Buffer.from('g') })
})

test('a key that is not complete is refused', async () => {
  const keys = [keyed(''), { ...keyed('h'), tokenId: 0 }, keyed('h', '')]
  for (const asked of keys) await expect(answer(asked, fail)).rejects.toMatchObject({ code: 'bad_request' })
})
