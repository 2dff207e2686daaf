import type { Context } from '../context'
import { seedAccounts } from '../data/seed-accounts'
import { drawReferences } from '../data/seed-leads'
import { type Memory, totalOf } from '../measure/memory'
import { createRequest, getRequest, retrieveRequests } from './requests'
import { uploadRequest } from './upload'

/** What the four services hold, before the first load and at most. */
export async function memory(context: Context): Promise<void> {
  const { generator, stack, leads, options, report } = context
  const account = await context.quoted()
  const [writer] = await seedAccounts(leads, 1)
  const references = await drawReferences(leads, account, 500)
  const job = { port: stack.port, connections: 64, seconds: options.seconds }
  // So that this part says something when it runs alone; what ran before counts too.
  await generator.closedLoop({ ...job, requests: retrieveRequests(account, references) })
  await generator.closedLoop({ ...job, requests: [getRequest(account, '/leads?page=1')] })
  await generator.closedLoop({ ...job, requests: [createRequest(writer!)] })
  const requests = [uploadRequest(`/leads/${references[0]}/attachments`, account.token)]
  await generator.closedLoop({ ...job, requests, amount: 64 })

  const amount = (what: string, used: Memory, floor: number, aim: number) => {
    const value = totalOf(used)
    const each = Object.entries(used).map(([name, size]) => `${name} ${Math.round(size)}`)
    report.figure({
      ...{ what, value, range: [value, value], better: 'less', floor, aim },
      detail: `MiB; ${each.join(', ')}`,
    })
  }
  amount('memory of the four services, idle', context.idleMemory, 600, 300)
  amount('memory of the four services, under the load of this run', context.mostMemory(), 1200, 700)
}
