#include "store/mend.h"

#include <stdio.h>

#include "base/id.h"
#include "base/system/file.h"
#include "base/text/json.h"

void mend_tell(struct mend *m, const struct mend_finding *f)
{
	json_object(m->checks);
	json_put_str(m->checks, "store", str_of(m->store));
	json_put_str(m->checks, "file", f->file);
	json_put_str(m->checks, "status", str_of(f->status));
	json_put_str(m->checks, "message", f->message);
	json_put_str(m->checks, "fix", f->fix);
	json_put_str(m->checks, "kept", f->kept);
	json_put_raw(m->checks, "lost", f->lost.p ? f->lost : STR("[]"));
	json_end(m->checks);
	m->sound = m->sound && strcmp(f->status, "error") != 0;
}

void mend_fail(struct call *c, struct mend *m, struct str file)
{
	mend_tell(m, &(struct mend_finding){ .file = file,
					     .status = "error",
					     .message = c->message,
					     .fix = call_next_step(c) });
	call_forgive(c);
}

struct str mend_name(struct call *c, struct str path)
{
	return arena_fmt(&c->mem, STR_FMT ".%s", STR_ARG(path),
			 id_mint(&c->mem, "damaged", c->now_ms).p);
}

enum err mend_keep(struct call *c, struct str path, struct str *kept)
{
	struct str content;
	enum err e = file_read_part(c, path, 0, 0, &content);

	*kept = STR_NONE;
	if (e || !content.p)
		return e;
	*kept = mend_name(c, path);
	return file_own_replace(c, *kept, content, 0600);
}

enum err mend_set_aside(struct call *c, struct str path, struct str *kept)
{
	*kept = mend_name(c, path);
	if (!rename(arena_cstr(&c->mem, path), kept->p))
		return file_sync_dir(c, path);
	*kept = STR_NONE;
	return file_fail(c, "rename", path);
}
