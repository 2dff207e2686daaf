import { randomUUID } from 'node:crypto'
import { joinStage, type SharedStage, type Tenant } from '../../support/stage'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const mark = (of: string, json: object) =>
  tenant.client.request<{ data: object; errors: object }>('POST', `/manage/leads/${of}/duplicate-of`, {
    json,
  })

test('a reference of no other lead that can be the original gets 422 with the field', async () => {
  const { reference } = await tenant.createLead()
  const { reference: other } = await tenant.createLead()
  const foreign = await (await stage.newTenant()).createLead()
  await mark(other, { reference })
  for (const json of [
    {},
    { reference: 'x' },
    { reference: 1 },
    { reference: [reference] },
    ...[reference, other, foreign.reference, randomUUID()].map((one) => ({ reference: one })),
  ]) {
    const { status, json: answer } = await mark(reference, json)
    expect({ json, status, errors: answer.errors }).toEqual({
      json,
      status: 422,
      errors: { reference: [expect.any(String)] },
    })
  }
})
