import { createDice, type Dice } from '@leadwire/test-kit'
import fc from 'fast-check'
import { field, file, rawMultipart } from './bad-input/multipart-body'
import { mutateBytes, mutateValue } from './bad-input/mutate'
import { OPERATIONS } from './bad-input/operations.fixture'
import { expectProblem } from './bad-input/problem.fixture'
import { startWorld, type World } from './bad-input/world.fixture'

// Change the seed to try other mutations.
const SEED = 20_261_121
const ROUNDS = 200

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

type Attempt = { method: string; path: string; headers: Record<string, string>; body: string | Buffer }

const multipartBody = () =>
  rawMultipart([field('name', 'Plan'), file('Meter under the stairs.'), field('alt', 'A plan')])

const bodyTargets = OPERATIONS.map(({ name, method, path, body }) => ({
  name,
  attempt: (dice: Dice): Attempt => {
    const sound = body(world)
    const at = { method, path: path(world) }
    if (dice.below(4) === 0) {
      const form = new URLSearchParams(
        Object.entries(sound).map(([key, value]): [string, string] => [key, String(value)]),
      )
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      return { ...at, headers, body: mutateBytes(dice, Buffer.from(form.toString())) }
    }
    const headers = { 'content-type': 'application/json' }
    const json = Buffer.from(JSON.stringify(dice.below(4) === 0 ? sound : mutateValue(dice, sound)))
    return { ...at, headers, body: dice.below(2) === 0 ? json : mutateBytes(dice, json) }
  },
}))

const multipartTargets = [
  { name: 'Attach a file', path: () => `/leads/${world.reference}/attachments` },
  { name: 'an image', path: () => '/manage/images' },
].map(({ name, path }) => ({
  name,
  attempt: (dice: Dice): Attempt => ({
    method: 'POST',
    path: path(),
    headers: { 'content-type': 'multipart/form-data; boundary=b0undary' },
    body: mutateBytes(dice, multipartBody()),
  }),
}))

const tryOut = async ({ method, path, headers, body }: Attempt): Promise<void> => {
  const answer = await world.client.request(method, path, { headers, body })
  if (answer.status === 200) expect(answer.json).toMatchObject({ data: expect.any(Object) })
  else {
    expect([400, 404, 413, 415, 422]).toContain(answer.status)
    expectProblem(answer, answer.status)
  }
}

describe.each([...bodyTargets, ...multipartTargets])('$name', ({ attempt }) => {
  test(`responds to ${ROUNDS} random mutations of a valid body with success or an error of the client`, async () => {
    const sense = fc.asyncProperty(fc.gen(), (draw) => tryOut(attempt(createDice(draw))))
    await fc.assert(sense, { seed: SEED, numRuns: ROUNDS, includeErrorInReport: true })
  })

  test('works as before', async () => {
    await world.expectUnharmed()
    await world.newLead()
  })
})

test('the receiver gets every lead that was created, and every list is served', async () => {
  await world.traces()
  for (const path of [
    '/leads',
    '/manage/users',
    '/manage/tokens',
    '/manage/webhook-endpoints',
    '/manage/deliveries',
    '/manage/notifications',
  ]) {
    expect(await world.client.request('GET', path)).toMatchObject({
      status: 200,
      json: { data: expect.any(Array) },
    })
  }
})
