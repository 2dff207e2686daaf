import { fillAccounts } from '@leadwire/fill'
import type { Context } from '../context'
import type { HttpRequest } from '../load/http-request'
import { load } from '../load/load'
import type { Memory } from '../measure/memory'
import { sumValues } from '../measure/statistics'
import { buildCreate, buildGet, buildRetrieveRequests } from './requests'
import { buildAttach } from './upload'

/**
 * Measures two figures: the resident memory of the idle services, sampled before the first load, and their
 * peak up to now, under all loads of the run.
 */
export const measureMemory = async (context: Context): Promise<void> => {
  const { stack, leads, options, report } = context
  const { port } = stack
  const { seconds } = options
  const account = await context.getAccountWithQuotes()
  const [writer] = await fillAccounts(leads, 1)
  // Loads the services, so that the peak is valid even when this scenario runs alone.
  const kinds: HttpRequest[][] = [
    await buildRetrieveRequests(context, account, 500),
    [buildGet(account, '/leads?page=1')],
    [buildCreate(writer!)],
  ]
  for (const requests of kinds) await load({ port, requests, connections: 64, seconds })
  await load({ port, requests: [await buildAttach(context, account)], connections: 32, seconds, amount: 64 })

  const addMemory = (when: string, memory: Memory, floor: number, aim: number) =>
    report.addSeries({
      what: `resident memory of the four services, ${when}, MiB`,
      values: [sumValues(memory)],
      better: 'less',
      floor,
      aim,
      detail: Object.entries(memory)
        .map(([name, size]) => `${name} ${Math.round(size)}`)
        .join(', '),
    })
  addMemory('idle', context.idleMemory, 400, 250)
  addMemory('under the load of this run', context.readPeakMemory(), 800, 500)
}
