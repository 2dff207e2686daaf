import { api } from '../api'
import { Action } from '../parts/action'
import { Field, type FieldErrors, Options } from '../parts/form'
import { ukMoment } from '../parts/format'
import { say } from '../parts/notices'
import { type Column, Table } from '../parts/table'
import { Ago } from '../parts/time'
import type { User } from '../users'
import type { Scheduled, ShownLead } from './load-lead'

const KINDS = {
  appointments: { title: 'Appointments', one: 'appointment', path: '/leads/{reference}/appointments' },
  callbacks: { title: 'Callbacks', one: 'callback', path: '/leads/{reference}/callbacks' },
} as const

const columnsOf = (users: User[] | undefined): Column<Scheduled>[] => [
  { name: 'When (UK)', cell: ({ date }) => <time dateTime={date}>{ukMoment(date)}</time> },
  {
    name: 'User',
    cell: ({ user_id }) => users?.find(({ id }) => id === user_id)?.name ?? `User ${user_id}`,
  },
  { name: 'Notified', cell: ({ notify }) => (notify ? 'yes' : 'no') },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
]

const formOf = (users: User[] | undefined) => (errors: FieldErrors) => (
  <>
    <Field name="date" label="Date and time in the United Kingdom" errors={errors}>
      {(attributes) => <input type="datetime-local" required {...attributes} />}
    </Field>
    <Field name="user_id" label={users ? 'User' : 'Id of the user'} errors={errors}>
      {(attributes) =>
        users ? (
          <select required {...attributes}>
            <Options options={users.map(({ id, name }) => [String(id), name])} />
          </select>
        ) : (
          <input inputMode="numeric" required {...attributes} />
        )
      }
    </Field>
    <label class="box">
      <input type="checkbox" name="notify" defaultChecked /> Notify the user
    </label>
  </>
)

/** `2026-12-24T14:30` as `24/12/2026 14:30`, which the API takes. */
const apiDate = (local: string): string => {
  const [year, month, day, time] = local.split(/[-T]/)
  return `${day}/${month}/${year} ${time}`
}

/** The appointments or callbacks of a lead, and the way to make one. */
export const ScheduledList = ({
  kind,
  shown: { lead, managed, canChange, ...lists },
  refresh,
}: {
  kind: keyof typeof KINDS
  shown: ShownLead
  refresh: () => Promise<void>
}) => {
  const { title, one, path } = KINDS[kind]
  const schedule = async (fields: FormData) => {
    const body = {
      date: apiDate(String(fields.get('date'))),
      user_id: Number(fields.get('user_id')),
      notify: fields.has('notify'),
    }
    await api().POST(path, { params: { path: { reference: lead.reference } }, body })
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
              names: ['date', 'user_id', 'notify'],
              content: formOf(managed?.users),
            }}
          />
        )}
      </div>
      {lists[kind].length === 0 ? (
        <p class="none">None</p>
      ) : (
        <Table
          caption={title}
          columns={columnsOf(managed?.users)}
          rows={lists[kind]}
          keyOf={({ id }) => id}
        />
      )}
    </>
  )
}
