import { api } from '../api'
import { Action } from '../parts/action'
import { Field, type FieldErrors, Options } from '../parts/form'
import { formatUkField, formatUkInstant } from '../parts/format'
import { showNotice } from '../parts/notices'
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
  shown: { lead, users },
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
    const { user_id, ...body } = readBody(fields)
    // Omits the user if it is unchanged, because this user may have been removed from the account. The API
    // would reject a removed user.
    const changed = user_id === entry.user_id ? body : { ...body, user_id }
    await api().PATCH(entryPath, { params: { path }, body: changed })
    showNotice(`The ${one} was moved.`)
    await refresh()
  }
  const cancel = async (fields: FormData) => {
    await api().DELETE(entryPath, { params: { path, query: { notify: fields.has('notify') } } })
    showNotice(`The ${one} was cancelled.`)
    await refresh()
  }
  const when = formatUkInstant(entry.date)
  return (
    <span class="actions">
      <Action
        label="Move"
        quiet
        run={move}
        question={{
          title: `Move the ${one} of ${when}`,
          yes: 'Save',
          names: NAMES,
          content: renderFields(users, entry),
        }}
      />
      <Action
        label="Cancel"
        quiet
        danger
        run={cancel}
        question={{
          title: `Cancel the ${one} of ${when}?`,
          yes: `Cancel the ${one}`,
          names: ['notify'],
          content: (
            <>
              <p>This can't be undone.</p>
              <Notify />
            </>
          ),
        }}
      />
    </span>
  )
}

const makeColumns = (
  users: User[] | undefined,
  actions: ((entry: Scheduled) => preact.ComponentChildren) | false,
): Column<Scheduled>[] => [
  { name: 'When (UK)', cell: ({ date }) => <time dateTime={date}>{formatUkInstant(date)}</time> },
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

const renderFields = (users: User[] | undefined, entry?: Scheduled) => (errors: FieldErrors) => (
  <>
    <Field name="date" label="Date and time in the United Kingdom" errors={errors}>
      {(attributes) => (
        <input
          type="datetime-local"
          required
          defaultValue={entry && formatUkField(entry.date)}
          {...attributes}
        />
      )}
    </Field>
    <Field name="user_id" label={users ? 'User' : 'User ID'} errors={errors}>
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

/** Converts `2026-12-24T14:30` to `24/12/2026 14:30`, the format of the API. */
const formatApiDate = (local: string): string => {
  const [year, month, day, time] = local.split(/[-T]/)
  return `${day}/${month}/${year} ${time}`
}

const readBody = (fields: FormData) => ({
  date: formatApiDate(String(fields.get('date'))),
  user_id: Number(fields.get('user_id')),
  notify: fields.has('notify'),
})

/** The appointments or callbacks of a lead, with buttons to schedule, move and cancel them. */
export const ScheduledList = (given: {
  kind: keyof typeof KINDS
  shown: ShownLead
  refresh: () => Promise<void>
}) => {
  const { kind, shown, refresh } = given
  const { lead, users, canChange } = shown
  const { title, one, path } = KINDS[kind]
  const schedule = async (fields: FormData) => {
    await api().POST(path, { params: { path: { reference: lead.reference } }, body: readBody(fields) })
    showNotice(`The ${one} was scheduled.`)
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
              content: renderFields(users),
            }}
          />
        )}
      </div>
      {shown[kind].length === 0 ? (
        <p class="none">None</p>
      ) : (
        <Table
          caption={title}
          columns={makeColumns(users, canChange && ((entry) => <RowActions {...given} entry={entry} />))}
          rows={shown[kind]}
          getKey={({ id }) => id}
        />
      )}
    </>
  )
}
