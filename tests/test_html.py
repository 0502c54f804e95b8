"""HTML as text."""

from trueline._html import join, table, tag


def test_what_is_not_markup_is_escaped():
    assert tag("p", "a < b", tag("b", "&"), title='"') == (
        '<p title="&quot;">a &lt; b<b>&amp;</b></p>'
    )
    assert join([tag("b", "1"), "<"], " > ") == "<b>1</b> &gt; &lt;"


def test_a_table_names_its_columns_and_rows_and_aligns_numbers():
    left, right = (
        f'style="padding: 0.2em 0.6em; text-align: {side}"' for side in ("left", "right")
    )
    rows = [["a<b", "", "no"], ["c", "+1.5e-05 ± 2", "90% of rows"], ["1", 2.5, "nan"]]
    assert table(["<name>", "size\x1b", "note"], rows, "A & B") == (
        f"<table><caption {left}>A &amp; B</caption><thead><tr>"
        f'<th scope="col" {left}>&lt;name&gt;</th>'
        f'<th scope="col" {right}>size\ufffd</th><th scope="col" {right}>note</th></tr></thead>'
        f'<tbody><tr><th scope="row" {left}>a&lt;b</th><td {left}></td><td {left}>no</td></tr>'
        f'<tr><th scope="row" {left}>c</th><td {right}>+1.5e-05 ± 2</td>'
        f"<td {left}>90% of rows</td></tr>"
        f'<tr><th scope="row" {left}>1</th><td {right}>2.5</td><td {right}>nan</td></tr>'
        f"</tbody></table>"
    )
    assert table(["name"], []) == (
        f'<table><thead><tr><th scope="col" {left}>name</th></tr></thead><tbody></tbody></table>'
    )
