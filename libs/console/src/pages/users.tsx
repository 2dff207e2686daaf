import { api } from '../api'
import { Action } from '../parts/action'
import { Field, type FieldErrors } from '../parts/form'
import { useLive } from '../parts/live'
import { say } from '../parts/notices'
import { Empty, Failure, Loading, Title } from '../parts/page'
import { type Column, Table } from '../parts/table'
import { Ago } from '../parts/time'
import { listUsers, type User } from '../users'

const NAMES = ['name', 'email']

const fieldsFor = (user?: User) => (errors: FieldErrors) => (
  <>
    <Field name="name" label="Name" errors={errors}>
      {(attributes) => <input defaultValue={user?.name} {...attributes} />}
    </Field>
    <Field name="email" label="E-mail" errors={errors} help="Notifications go there.">
      {(attributes) => <input type="email" defaultValue={user?.email} {...attributes} />}
    </Field>
  </>
)

const bodyOf = (fields: FormData) => ({
  name: String(fields.get('name')),
  email: String(fields.get('email')),
})

const RowActions = ({ user, refresh }: { user: User; refresh: () => Promise<void> }) => {
  const params = { path: { id: user.id } }
  const update = async (fields: FormData) => {
    await api().PATCH('/manage/users/{id}', { params, body: bodyOf(fields) })
    say('Saved.')
    await refresh()
  }
  const remove = async () => {
    await api().DELETE('/manage/users/{id}', { params })
    say(`${user.name} was removed.`)
    await refresh()
  }
  return (
    <span class="actions">
      <Action
        label="Edit"
        quiet
        run={update}
        question={{ title: `Edit ${user.name}`, yes: 'Save', names: NAMES, content: fieldsFor(user) }}
      />
      <Action
        label="Remove"
        quiet
        danger
        run={remove}
        question={{
          title: `Remove ${user.name}?`,
          yes: 'Remove',
          content: (
            <p>
              No more leads can be assigned to this user, who gets no more notifications. Leads, appointments
              and callbacks of this user stay. It can't be undone.
            </p>
          ),
        }}
      />
    </span>
  )
}

const columnsOf = (refresh: () => Promise<void>): Column<User>[] => [
  { name: 'Name', cell: ({ name }) => <span class="wrap">{name}</span> },
  { name: 'E-mail', cell: ({ email }) => <span class="wrap">{email}</span> },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
  { name: 'Actions', cell: (user) => <RowActions user={user} refresh={refresh} /> },
]

/** /users: the people that leads can be assigned to. */
export const Users = () => {
  const { data: users, problem, refresh } = useLive('users', listUsers)
  if (!users) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const create = async (fields: FormData) => {
    await api().POST('/manage/users', { body: bodyOf(fields) })
    say('Created.')
    await refresh()
  }
  return (
    <>
      <Title
        title="Users"
        actions={
          <Action
            label="New user"
            run={create}
            question={{ title: 'New user', yes: 'Create', names: NAMES, content: fieldsFor() }}
          />
        }
      />
      {users.length === 0 ? (
        <Empty>There are no users yet. Leads, appointments and callbacks are assigned to users.</Empty>
      ) : (
        <Table caption="Users" columns={columnsOf(refresh)} rows={users} keyOf={({ id }) => id} />
      )}
    </>
  )
}
