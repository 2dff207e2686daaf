import { type Case, MISSING } from './bad-input/kinds.fixture'
import { OPERATIONS, type Operation } from './bad-input/operations.fixture'
import { expectProblem } from './bad-input/problem.fixture'
import { toJson } from './bad-input/raw-json'
import { startWorld, type Traces, type World } from './bad-input/world.fixture'
import type { Answer } from './client'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

const sendBody = ({ method, path }: Operation, body: unknown) =>
  world.client.request(method, path(world), {
    headers: { 'content-type': 'application/json' },
    body: toJson(body),
  })

const made = (value: unknown) =>
  typeof value === 'function' ? (value as (of: World) => unknown)(world) : value

/** The operation's sound body with one field, by its dotted path, as given. */
const bodyWith = (operation: Operation, field: string, value: unknown): Record<string, unknown> => {
  const body = structuredClone(operation.body(world))
  const steps = field.split('.')
  const last = steps.pop()!
  const parent = steps.reduce((at, step) => at[step] as Record<string, unknown>, body)
  if (value === MISSING) delete parent[last]
  else parent[last] = made(value)
  return body
}

/** Sends every case at once, and names each that was not answered as expected, with how it was. */
const tryAll = async (
  operation: Operation,
  field: string,
  { cases, check }: { cases: Case[]; check: (answer: Answer) => void },
) => {
  const unexpected: Record<string, string> = {}
  await Promise.all(
    cases.map(async ({ what, value }) => {
      const answer = await sendBody(operation, bodyWith(operation, field, value))
      try {
        check(answer)
      } catch (error) {
        unexpected[what] = `${answer.status} ${answer.text.slice(0, 1000)}\n${(error as Error).message}`
      }
    }),
  )
  expect(unexpected).toEqual({})
}

const kindsOf = (operation: Operation) => Object.entries(operation.fields)

describe.each(OPERATIONS)('$name', (operation) => {
  describe('refuses every wrong value', () => {
    let before: Traces
    beforeAll(async () => {
      before = await world.traces()
    })

    test.each(kindsOf(operation))('of %s', (field, { wrong }) =>
      tryAll(operation, field, { cases: wrong, check: (answer) => expectProblem(answer, 422, [field]) }))

    test('and leaves nothing behind', () => world.expectNothingLeft(before))
  })

  test.each(
    kindsOf(operation).filter(([, { right }]) => right.length > 0),
  )('takes every sound value of %s', (field, { right }) =>
    tryAll(operation, field, {
      cases: right,
      check: ({ status, json }) =>
        expect({ status, json }).toEqual({ status: 200, json: { data: expect.any(Object) } }),
    }))

  test('is unharmed by it', () => world.expectUnharmed())
})
