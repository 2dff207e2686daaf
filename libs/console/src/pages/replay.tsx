import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { api, dataOf, type Schemas } from '../api'
import { EVENT_OPTIONS, listEndpoints, nameOf } from '../endpoints'
import { Action } from '../parts/action'
import { Badge, type Tone } from '../parts/badge'
import { Boxes, Field, Options, useForm } from '../parts/form'
import { counted, LAST_MINUTE, number } from '../parts/format'
import { useLive } from '../parts/live'
import { say } from '../parts/notices'
import { Facts, Failure, Loading, type PageProps, Title } from '../parts/page'
import { useQuery } from '../parts/pager'
import { Exactly } from '../parts/time'

type Replayed = Schemas['WebhookEndpointReplay']
type Request = Schemas['ReplayWebhookEndpointRequest']

const POLL_MS = 1000

const STATES: Record<Replayed['state'], { word: string; tone: Tone }> = {
  counted: { word: 'Counted', tone: 'good' },
  running: { word: 'Running', tone: 'warn' },
  done: { word: 'Done', tone: 'good' },
  cancelled: { word: 'Cancelled', tone: 'calm' },
}

const WHICH: [NonNullable<Request['state']>, string][] = [
  ['undelivered', 'what was never delivered'],
  ['exhausted', 'what failed (exhausted)'],
  ['all', 'everything, delivered events too'],
]

const NAMES = ['state', 'from', 'to', 'after_sequence', 'until_sequence', 'types']

/** What is given of a form's fields. */
const requestOf = (fields: FormData): Request => {
  const moment = (name: string) => {
    const value = String(fields.get(name))
    return value ? new Date(value).toISOString() : undefined
  }
  const sequence = (name: string) => {
    const value = String(fields.get(name))
    return value ? Number(value) : undefined
  }
  const types = fields.getAll('types') as NonNullable<Request['types']>
  return {
    state: fields.get('state') as Request['state'],
    from: moment('from'),
    to: moment('to'),
    after_sequence: sequence('after_sequence'),
    until_sequence: sequence('until_sequence'),
    types: types.length > 0 ? types : undefined,
  }
}

const retrieve = (id: number, replay: number, signal?: AbortSignal) =>
  dataOf(
    api().GET('/manage/webhook-endpoints/{id}/replay/{replay_id}', {
      params: { path: { id, replay_id: replay } },
      signal,
    }),
  )

const start = async (id: number, body: Request): Promise<Replayed> =>
  (await dataOf(api().POST('/manage/webhook-endpoints/{id}/replay', { params: { path: { id } }, body }))).data

const Range = ({ id }: { id: number }) => {
  const [, navigate] = useLocation()
  const [, changed] = useQuery()
  const [asked, setAsked] = useState<{ request: Request; matched: number }>()
  const show = (replay: Replayed) => navigate(changed({ replay: String(replay.id) }))
  const count = async (fields: FormData) => {
    const request = requestOf(fields)
    const replay = await start(id, { ...request, dry_run: true })
    // A long log takes longer than a response may.
    if (replay.state === 'running') show(replay)
    else setAsked({ request, matched: replay.matched })
  }
  const { onSubmit, errors, failure, isBusy } = useForm(count, NAMES)
  const field = (name: string, label: string, type: 'datetime-local' | 'number', help?: string) => (
    <Field name={name} label={label} errors={errors} help={help}>
      {(attributes) => (
        <input {...attributes} type={type} {...(type === 'number' ? { min: 0 } : { max: LAST_MINUTE })} />
      )}
    </Field>
  )
  return (
    <>
      <form
        class="card padded narrow"
        aria-busy={isBusy}
        onSubmit={onSubmit}
        onInput={() => setAsked(undefined)}
      >
        <p>
          Events are sent in the order of the log, beside new ones. An event that was never sent here gets a
          delivery with all retries.
        </p>
        <Field name="state" label="Which" errors={errors}>
          {(attributes) => (
            <select {...attributes}>
              <Options options={WHICH} chosen="undelivered" />
            </select>
          )}
        </Field>
        {field('from', 'Created from', 'datetime-local')}
        {field('to', 'Created before', 'datetime-local')}
        {field('after_sequence', 'After the sequence', 'number')}
        {field('until_sequence', 'Up to the sequence', 'number')}
        <Boxes
          name="types"
          label="Events; none: those that the endpoint subscribes to"
          options={EVENT_OPTIONS}
          checked={[]}
          errors={errors}
        />
        {failure}
        <div class="actions">
          <button type="submit">Count</button>
        </div>
      </form>
      {asked && (
        <section class="card padded narrow" aria-label="Count">
          <p role="status">{`${counted(asked.matched, 'event')} ${asked.matched === 1 ? 'matches' : 'match'}.`}</p>
          {asked.matched > 0 && (
            <div class="actions">
              <Action
                label={`Replay ${counted(asked.matched, 'event')}`}
                run={async () => show(await start(id, asked.request))}
              />
            </div>
          )}
        </section>
      )}
    </>
  )
}

const Progress = ({
  id,
  replay,
  onChanged,
}: {
  id: number
  replay: Replayed
  onChanged: () => Promise<void>
}) => {
  const cancel = async () => {
    const params = { path: { id, replay_id: replay.id } }
    await api().DELETE('/manage/webhook-endpoints/{id}/replay/{replay_id}', { params })
    say('Cancelled.')
    await onChanged()
  }
  return (
    <section class="card padded" aria-label="Replay">
      <p role="status">
        <Badge {...STATES[replay.state]} />
        {` ${number(replay.enqueued)} of ${counted(replay.matched, 'event')} enqueued.`}
      </p>
      <progress aria-label="Enqueued" max={Math.max(1, replay.matched)} value={replay.enqueued} />
      <Facts
        rows={[
          ['Replay', `#${replay.id}`],
          ['Requested', <Exactly at={replay.created_at} />],
        ]}
      />
      <div class="actions">
        {replay.state === 'running' ? (
          <Action
            label="Cancel replay"
            danger
            run={cancel}
            question={{
              title: 'Cancel this replay?',
              yes: 'Cancel replay',
              content: <p>What is enqueued is still sent. The rest is not.</p>,
            }}
          />
        ) : (
          <Link class="button quiet" href={`/endpoints/${id}/replay`}>
            Another replay
          </Link>
        )}
      </div>
    </section>
  )
}

/** /endpoints/:id/replay: the range of a replay, and with ?replay= how far one is. */
export const Replay = ({ id: text }: PageProps) => {
  const id = Number(text)
  const [query] = useQuery()
  const shown = Number(query.get('replay')) || undefined
  const { data, problem, refresh } = useLive(
    `${text}?${shown}`,
    async (signal) => {
      const [endpoints, replay] = await Promise.all([
        listEndpoints(signal),
        shown ? retrieve(id, shown, signal) : undefined,
      ])
      return { endpoint: endpoints.find((one) => one.id === id), replay: replay?.data }
    },
    POLL_MS,
  )
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { endpoint, replay } = data
  const name = endpoint ? nameOf(endpoint) : `Endpoint ${id}`
  return (
    <>
      <Title title={`Replay to ${name}`} from={[name, `/endpoints/${id}`]} />
      {shown ? replay && <Progress id={id} replay={replay} onChanged={refresh} /> : <Range id={id} />}
    </>
  )
}
