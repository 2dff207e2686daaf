export type Gate = { opened: Promise<void>; open(): void }

/** Something to wait for until the spec says so. */
export function gate(): Gate {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
