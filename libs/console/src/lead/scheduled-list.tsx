import { api } from '../api'
import { Action } from '../parts/action'
import { Field, type FieldErrors, Options } from '../parts/form'
import { ukLocal, ukMoment } from '../parts/format'
import { say } from '../parts/notices'
import { type Column, Table } from '../parts/table'
import { Ago } from '../parts/time'
import type { User } from '../users'
import type { Scheduled, ShownLead } from './load-lead'

const KINDS = {
  appointments: {
    title: 'Appointments',
    one: 'appointment',
    path: '/leads/{reference}/appointments',
    entryPath: '/leads/{reference}/appointments/{id}',
  },
  callbacks: {
    title: 'Callbacks',
    one: 'callback',
    path: '/leads/{reference}/callbacks',
    entryPath: '/leads/{reference}/callbacks/{id}',
  },
} as const

const NAMES = ['date', 'user_id', 'notify']

const Notify = () => (
  <label class="box">
    <input type="checkbox" name="notify" defaultChecked /> Notify the user
  </label>
)

const RowActions = ({
  kind,
  entry,
  shown: { lead, managed },
  refresh,
}: {
  kind: keyof typeof KINDS
  entry: Scheduled
  shown: ShownLead
  refresh: () => Promise<void>
}) => {
  const { one, entryPath } = KINDS[kind]
  const path = { reference: lead.reference, id: entry.id }
  const move = async (fields: FormData) => {
    const { user_id, ...body } = bodyOf(fields)
    // The API refuses a removed user, who may stay.
    const changed = user_id === entry.user_id ? body : { ...body, user_id }
    await api().PATCH(entryPath, { params: { path }, body: changed })
    say(`The ${one} is changed.`)
    await refresh()
  }
  const cancel = async (fields: FormData) => {
    await api().DELETE(entryPath, { params: { path, query: { notify: fields.has('notify') } } })
    say(`The ${one} is cancelled.`)
    await refresh()
  }
  const when = ukMoment(entry.date)
  return (
    <span class="actions">
      <Action
        label="Move"
        quiet
        run={move}
        question={{
          ...{ title: `Move the ${one} of ${when}`, yes: 'Save', names: NAMES },
          content: formOf(managed?.users, entry),
        }}
      />
      <Action
        label="Cancel"
        quiet
        danger
        run={cancel}
        question={{
          ...{ title: `Cancel the ${one} of ${when}?`, yes: `Cancel the ${one}`, names: ['notify'] },
          content: (
            <>
              <p>It can't be undone.</p>
              <Notify />
            </>
          ),
        }}
      />
    </span>
  )
}

const columnsOf = (
  users: User[] | undefined,
  actions: ((entry: Scheduled) => preact.ComponentChildren) | false,
): Column<Scheduled>[] => [
  { name: 'When (UK)', cell: ({ date }) => <time dateTime={date}>{ukMoment(date)}</time> },
  {
    name: 'User',
    cell: ({ user_id }) => (
      <span class="wrap">{users?.find(({ id }) => id === user_id)?.name ?? `User ${user_id}`}</span>
    ),
  },
  { name: 'Notified', cell: ({ notify }) => (notify ? 'yes' : 'no') },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
  {
    name: 'Cancelled',
    cell: ({ cancelled_at: at }) => (at ? <Ago at={at} /> : <span class="none">–</span>),
  },
  ...(actions
    ? [
        {
          name: 'Actions',
          cell: (entry: Scheduled) => (entry.cancelled_at ? <span class="none">–</span> : actions(entry)),
        },
      ]
    : []),
]

const userOptions = (users: User[], entry?: Scheduled): [string, string][] => {
  const isMissing = entry && !users.some(({ id }) => id === entry.user_id)
  const others = isMissing ? [{ id: entry.user_id, name: `User ${entry.user_id}` }] : []
  return [...others, ...users].map(({ id, name }) => [String(id), name])
}

const formOf = (users: User[] | undefined, entry?: Scheduled) => (errors: FieldErrors) => (
  <>
    <Field name="date" label="Date and time in the United Kingdom" errors={errors}>
      {(attributes) => (
        <input type="datetime-local" required defaultValue={entry && ukLocal(entry.date)} {...attributes} />
      )}
    </Field>
    <Field name="user_id" label={users ? 'User' : 'Id of the user'} errors={errors}>
      {(attributes) =>
        users ? (
          <select required {...attributes}>
            <Options options={userOptions(users, entry)} chosen={entry && String(entry.user_id)} />
          </select>
        ) : (
          <input inputMode="numeric" required defaultValue={entry && String(entry.user_id)} {...attributes} />
        )
      }
    </Field>
    <Notify />
  </>
)

/** `2026-12-24T14:30` as `24/12/2026 14:30`, which the API takes. */
const apiDate = (local: string): string => {
  const [year, month, day, time] = local.split(/[-T]/)
  return `${day}/${month}/${year} ${time}`
}

const bodyOf = (fields: FormData) => ({
  date: apiDate(String(fields.get('date'))),
  user_id: Number(fields.get('user_id')),
  notify: fields.has('notify'),
})

/** The appointments or callbacks of a lead, and the ways to make, move and cancel one. */
export const ScheduledList = (given: {
  kind: keyof typeof KINDS
  shown: ShownLead
  refresh: () => Promise<void>
}) => {
  const { kind, shown, refresh } = given
  const { lead, managed, canChange } = shown
  const { title, one, path } = KINDS[kind]
  const schedule = async (fields: FormData) => {
    await api().POST(path, { params: { path: { reference: lead.reference } }, body: bodyOf(fields) })
    say(`The ${one} is scheduled.`)
    await refresh()
  }
  return (
    <>
      <div class="heading">
        <h2>{title}</h2>
        {canChange && (
          <Action
            label={`New ${one}`}
            quiet
            run={schedule}
            question={{
              title: `New ${one}`,
              yes: 'Schedule',
              names: NAMES,
              content: formOf(managed?.users),
            }}
          />
        )}
      </div>
      {shown[kind].length === 0 ? (
        <p class="none">None</p>
      ) : (
        <Table
          caption={title}
          columns={columnsOf(
            managed?.users,
            canChange && ((entry) => <RowActions {...given} entry={entry} />),
          )}
          rows={shown[kind]}
          keyOf={({ id }) => id}
        />
      )}
    </>
  )
}
