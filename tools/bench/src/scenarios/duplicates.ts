import { fillAccounts, openSql } from '@leadwire/fill'
import type { Request } from 'autocannon'
import type { Context } from '../context'
import { another } from '../load/another'
import { load } from '../load/load'
import { totalOf } from '../measure/statistics'
import { inFolder } from '../stack/in-folder'
import { startStack } from '../stack/start-stack'
import { createRequest } from './requests'
import { measured, type Round } from './rounds'

type Loaded = Round<Awaited<ReturnType<typeof load>>>

/** What a create pays for suspected duplicates: the stack beside one without, in turn. */
export const duplicates = async (context: Context): Promise<void> =>
  inFolder(context.ground, async (folder, ground) => {
    const { report, options } = context
    const stack = await startStack({ ground, folder, env: { DUPLICATE_WINDOW: '0s' } })
    const leads = openSql(stack.database('leads'))
    ground.onLeave(leads.close)
    const sides = {
      found: { ...context, strangers: createRequest((await fillAccounts(context.leads, 1))[0]!) },
      none: { ...context, stack, leads, strangers: createRequest((await fillAccounts(leads, 1))[0]!) },
    }
    const names = Object.keys(sides) as (keyof typeof sides)[]
    const compare = async (
      connections: number,
      leadsSent: number,
      requestOf = (strangers: Request): Request => strangers,
    ) => {
      const amount = options.quick ? leadsSent / 10 : leadsSent
      const run = (name: keyof typeof sides) => {
        const { stack: loaded, strangers } = sides[name]
        const requests = [requestOf(strangers)]
        return measured(sides[name], () =>
          load({ port: loaded.port, requests, connections, amount, seconds: 0 }),
        )
      }
      const rounds: Record<keyof typeof sides, Loaded[]> = { found: [], none: [] }
      for (const name of [...names, ...names]) await run(name)
      for (let round = 0; round < options.rounds; round++)
        for (const name of round % 2 === 0 ? names : names.toReversed()) rounds[name].push(await run(name))
      return rounds
    }
    const ratio = (
      what: string,
      { found, none }: Record<string, Loaded[]>,
      of: (round: Loaded) => number,
    ) => ({
      what: `create, ${what}: with suspected duplicates / without`,
      ...{ ours: found!.map(of), baseline: none!.map(of), better: 'less' as const },
    })
    const cpu = (round: Loaded) => totalOf(round.cpu)
    const goal = { floor: 1.05, aim: 1.02 }

    const full = await compare(64, 6400)
    report.ratio({ ...ratio('processor time', full, cpu), unit: 'µs', ...goal })
    report.cpu('a create with suspected duplicates', full.found)
    report.cpu('a create without', full.none)
    const lone = await compare(1, 3000)
    report.ratio({ ...ratio('processor time on one connection', lone, cpu), unit: 'µs', ...goal })
    report.ratio({ ...ratio('p50 on one connection', lone, ({ p50 }) => p50), unit: 'ms', ...goal })
    const same = await compare(64, 6400, (strangers) => ({ ...strangers, body: another(strangers.body) }))
    report.ratio({ ...ratio('processor time, all of one person', same, cpu), unit: 'µs' })
  })
