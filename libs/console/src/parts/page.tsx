import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { type Problem, renderProblem, type Scope } from '../api'
import { me, token } from '../session'
import { signOut } from '../sign-in'

export interface PageProps {
  /** The id in the page's URL. */
  id: string
  /** The scopes of the signed-in user or token. */
  scopes: Set<Scope>
}

interface TitleProps {
  /** The title of the window. */
  title: string
  /** The name and path of the parent page. */
  from?: [name: string, path: string]
  actions?: ComponentChildren
  children?: ComponentChildren
}

/** The head of a page. A new page moves the focus to its heading, so that screen readers start there. */
export const Title = ({ title, from, actions, children = title }: TitleProps) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    heading.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [])
  useEffect(() => {
    document.title = `${title} · Leadwire console`
  }, [title])
  return (
    <>
      {from && (
        <p class="crumbs">
          <Link href={from[1]}>{from[0]}</Link>
        </p>
      )}
      <div class="heading">
        <h1 ref={heading} tabIndex={-1}>
          {children}
        </h1>
        {actions && <div class="actions">{actions}</div>}
      </div>
    </>
  )
}

export const Loading = () => <p class="loading">Loading…</p>

/** The way on from a page that can't be loaded. `again` loads the page again. */
const WayOn = ({ status, again = () => location.reload() }: { status: number; again?: () => void }) => {
  if (status === 403 && token.value !== null) {
    return (
      <button type="button" onClick={() => signOut()}>
        Use another token
      </button>
    )
  }
  // Loading the page again cannot help here.
  if ((status === 403 || status === 404) && me.value) {
    return (
      <Link class="button" href="/">
        Go to the start page
      </Link>
    )
  }
  return (
    <button type="button" onClick={again}>
      Try again
    </button>
  )
}

/** Shown instead of a page that can't be loaded. */
export const Failure = ({ problem, again }: { problem: Problem; again?: () => void }) => (
  <div class="card padded problem">
    <Title title={problem.title} />
    <p>{renderProblem(problem)}</p>
    <div class="actions">
      <WayOn status={problem.status} again={again} />
    </div>
  </div>
)

export const Empty = ({ children }: { children: ComponentChildren }) => <div class="empty">{children}</div>

export type FactRows = [name: string, value: ComponentChildren][]

const hasValue = ([, value]: FactRows[number]) => Boolean(value) || value === 0

/** A list of names with their values. Omits names without a value. */
export const Facts = ({ rows }: { rows: FactRows }) => (
  <dl class="facts card padded">
    {rows.filter(hasValue).map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)
