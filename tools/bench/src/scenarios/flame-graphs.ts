import type { Context } from '../context'
import { type SeededAccount, seedAccounts } from '../data/seed-accounts'
import { dropEndpoints, seedEndpoints } from '../data/seed-deliveries'
import { drawReferences } from '../data/seed-leads'
import type { RequestPlan } from '../load/jobs'
import { profile } from '../measure/profile'
import { flameGraph, hottest, mergedFrames } from '../report/flame-graph'
import { createRequest, getRequest, retrieveRequests } from './requests'
import { uploadRequest } from './upload'

type Path = { name: string; services: string[]; requests: RequestPlan[]; amount?: number }

/** Where the services spend their time on each hot path. The profiler itself costs; no figure is taken here. */
export async function flameGraphs(context: Context): Promise<void> {
  const { generator, stack, receiver, leads, webhooks, options } = context
  const account = await context.quoted()
  const [writer] = await seedAccounts(leads, 1)
  const url = `http://127.0.0.1:${receiver.port}/ok`
  const endpoints = await seedEndpoints(webhooks, [{ account: writer!, url }])
  for (const { name, services, requests, amount } of await pathsOf(context, account, writer!)) {
    const job = { port: stack.port, requests, connections: 64, ...(amount !== undefined && { amount }) }
    const profiles = await profile(stack, services, () =>
      generator.closedLoop({ ...job, seconds: options.seconds }),
    )
    for (const service of services) {
      const title = `${name}: ${service}`
      const file = `flame-${name.replaceAll(' ', '-')}-${service}.svg`
      context.report.flameGraph({ file, title, svg: flameGraph(title, profiles[service]!) })
      const top = hottest(mergedFrames(profiles[service]!), 4)
      context.report.note(
        `${title}: most time of their own have ${top.map(({ name, share }) => `\`${name}\` (${Math.round(share * 100)} %)`).join(', ')}.`,
      )
    }
  }
  await dropEndpoints(webhooks, endpoints)
}

async function pathsOf({ leads }: Context, account: SeededAccount, writer: SeededAccount): Promise<Path[]> {
  const references = await drawReferences(leads, account, 2000)
  const attach = uploadRequest(`/leads/${references[0]}/attachments`, account.token)
  return [
    {
      name: 'retrieve',
      services: ['gateway', 'leads-service'],
      requests: retrieveRequests(account, references),
    },
    {
      name: 'list',
      services: ['gateway', 'leads-service'],
      requests: [getRequest(account, '/leads?page=3')],
    },
    {
      name: 'create and deliver',
      services: ['gateway', 'leads-service', 'webhook-service'],
      requests: [createRequest(writer)],
    },
    { name: 'attach', services: ['gateway', 'files-service'], requests: [attach], amount: 64 },
  ]
}
