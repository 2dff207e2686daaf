import { setTimeout as pause } from 'node:timers/promises'
import type { Chance } from '../chance'
import type { Hazard } from '../hazards'
import { untilReady } from '../until-ready'
import { loseMachine } from './machine'
import type { Machines } from './start-machines'

const STREAM = 'LEADS'

interface Loss {
  process: string
  happen: () => Promise<void>
}

/** What is lost for good: one of each kind. */
const lossesOf = ({ postgres, nats, minio, services }: Machines, chance: Chance): Loss[] => {
  const copies = services.filter(({ name }) => name.endsWith('-2'))
  const store = chance.pick(minio.machines)
  return [
    { process: 'postgres-1', happen: postgres.failOver },
    {
      process: 'nats (the leader of the stream)',
      happen: async () => loseMachine(await nats.leader(STREAM)),
    },
    { process: store.name, happen: () => loseMachine(store) },
    {
      process: copies.map(({ name }) => name).join(', '),
      happen: async () => void (await Promise.all(copies.map(loseMachine))),
    },
  ]
}

const inAnyOrder = <T>(items: T[], chance: Chance): T[] =>
  items
    .map((item) => ({ item, place: chance.next() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item)

/**
 * Loses a machine of each kind, one after the other and for good, in an order drawn by chance. Resolves with what was lost when
 * `deadline` has passed, and everything is ready. Throws when the rest does not get ready, or ends by itself.
 */
export const loseMachines = async (
  machines: Machines,
  { chance, deadline, say }: { chance: Chance; deadline: number; say: (line: string) => void },
): Promise<Hazard[]> => {
  const losses = inAnyOrder(lossesOf(machines, chance), chance)
  const apartMs = (deadline - Date.now()) / (losses.length + 1)
  const hazards: Hazard[] = []
  const left = () => machines.services.filter(({ hasExited }) => !hasExited())
  for (const { process, happen } of losses) {
    await pause(apartMs)
    say(`${process} is lost`)
    const from = Date.now()
    await happen()
    await untilReady(async () => left().map(({ plan }) => plan.health), `${process} was lost`)
    hazards.push({ what: 'lost', process, from, until: Date.now() })
  }
  await pause(Math.max(0, deadline - Date.now()))
  if (left().length !== machines.services.length / 2) throw new Error('a service ended by itself')
  return hazards
}
