import { fillAccounts } from '@leadwire/fill'
import type { Request } from 'autocannon'
import type { Context } from '../context'
import { load } from '../load/load'
import type { Memory } from '../measure/memory'
import { totalOf } from '../measure/statistics'
import { createRequest, getRequest, retrieveRequests } from './requests'
import { attachRequests } from './upload'

/** What the four services hold, before the first load and at most. */
export const memory = async (context: Context): Promise<void> => {
  const { stack, leads, options, report } = context
  const account = await context.quoted()
  const [writer] = await fillAccounts(leads, 1)
  const job = { port: stack.port, seconds: options.seconds }
  // So that this part says something when it runs alone; what ran before counts too.
  const kinds: Request[][] = [
    await retrieveRequests(context, account, 500),
    [getRequest(account, '/leads?page=1')],
    [createRequest(writer!)],
  ]
  for (const requests of kinds) await load({ ...job, requests, connections: 64 })
  await load({ ...job, requests: await attachRequests(context, account), connections: 32, amount: 64 })

  const figure = (what: string, used: Memory, floor: number, aim: number) =>
    report.series({
      ...{ what: `resident memory of the four services, ${what}, MiB`, values: [totalOf(used)] },
      ...{ better: 'less', floor, aim },
      detail: Object.entries(used)
        .map(([name, size]) => `${name} ${Math.round(size)}`)
        .join(', '),
    })
  figure('idle', context.idleMemory, 400, 250)
  figure('under the load of this run', context.mostMemory(), 800, 500)
}
