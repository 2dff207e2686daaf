import { setTimeout as pause } from 'node:timers/promises'
import type { Chance } from '../chance'
import type { Hazard } from '../hazards'
import { waitUntilReady } from '../wait-until-ready'
import { loseMachine } from './machine'
import type { Machines } from './start-machines'

const STREAM = 'LEADS'

interface Loss {
  process: string
  lose: () => Promise<void>
}

/**
 * Lists the losses: PostgreSQL's primary, the nats-server that leads the stream, one MinIO server, and the
 * second copy of every service.
 */
const listLosses = ({ postgres, nats, minio, services }: Machines, chance: Chance): Loss[] => {
  const copies = services.filter(({ name }) => name.endsWith('-2'))
  const store = chance.pick(minio.machines)
  return [
    { process: 'postgres-1', lose: postgres.failOver },
    {
      process: 'nats (the leader of the stream)',
      lose: async () => loseMachine(await nats.findLeader(STREAM)),
    },
    { process: store.name, lose: () => loseMachine(store) },
    {
      process: copies.map(({ name }) => name).join(', '),
      lose: async () => {
        await Promise.all(copies.map(loseMachine))
      },
    },
  ]
}

const shuffle = <T>(items: T[], chance: Chance): T[] =>
  items
    .map((item) => ({ item, place: chance.next() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item)

/**
 * Loses one machine of each kind for good, one after the other in random order, until the deadline. After
 * each loss, waits until everything is ready again. Returns the hazards.
 * @throws an error if the remaining machines are not ready in time, or if one of the remaining services ends
 */
export const loseMachines = async (
  machines: Machines,
  { chance, deadline, say }: { chance: Chance; deadline: number; say: (line: string) => void },
): Promise<Hazard[]> => {
  const losses = shuffle(listLosses(machines, chance), chance)
  const pauseMs = (deadline - Date.now()) / (losses.length + 1)
  const hazards: Hazard[] = []
  const listRunning = () => machines.services.filter(({ hasExited }) => !hasExited())
  const listHealthUrls = async () => listRunning().map(({ plan }) => plan.health)
  for (const { process, lose } of losses) {
    await pause(pauseMs)
    say(`${process} is lost`)
    const from = Date.now()
    await lose()
    await waitUntilReady(listHealthUrls, `${process} was lost`)
    hazards.push({ what: 'lost', process, from, until: Date.now() })
  }
  await pause(Math.max(0, deadline - Date.now()))
  // One of the two copies of each service was lost, so exactly half of the copies must still run.
  if (listRunning().length !== machines.services.length / 2) throw new Error('a service ended unexpectedly')
  return hazards
}
