#include "page_style.hpp"

namespace detreduce::report {

// Tables are sorted by a click on a column's title; a second one turns them round. Without a script
// the page lacks nothing else. Figures are read as the writers of text.hpp print them: 1 234,
// 2²⁰ + 37, 1.2e+05, < 0.01 %, ∞; what is no figure goes by its letters, and dashes come last.
std::string page_script() {
    return R"js(
"use strict";
const digits="⁰¹²³⁴⁵⁶⁷⁸⁹";
function shown(cell){const first=cell.firstChild;return first&&first.nodeType===3?first.data.trim():cell.textContent.trim()}
function figure(text){
  const t=text.replace(/[\s\u00a0\u2009\u202f](?=\d{3}(\D|$))/g,"").replace(/^[<≤~]\s*/,"");
  if(/^[∞]/.test(t))return Infinity;
  const power=t.match(/^2([⁰¹²³⁴⁵⁶⁷⁸⁹]+)(?:\s*\+\s*(\d+))?/);
  if(power)return 2**Number([...power[1]].map(c=>digits.indexOf(c)).join(""))+Number(power[2]||0);
  const number=t.match(/^[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?/);
  return number?Number(number[0].replace("−","-")):NaN}
function before(a,b){
  if(a==="—"||b==="—")return (a==="—")-(b==="—");
  const x=figure(a),y=figure(b);
  if(!isNaN(x)&&!isNaN(y))return x<y?-1:x>y?1:0;
  return isNaN(x)!==isNaN(y)?isNaN(x)-isNaN(y):a<b?-1:a>b?1:0}
function sort(table,column,head){
  const down=head.getAttribute("aria-sort")==="ascending",rows=[...table.tBodies[0].rows];
  const order=rows.map((row,i)=>[shown(row.cells[column]),i]);
  order.sort((a,b)=>{const dash=(a[0]==="—")-(b[0]==="—");return dash||(down?-1:1)*before(a[0],b[0])||a[1]-b[1]});
  for(const other of head.parentNode.cells)other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort",down?"descending":"ascending");
  table.tBodies[0].append(...order.map(entry=>rows[entry[1]]))}
for(const table of document.querySelectorAll("table:not(.values)")){
  if(table.tBodies[0].rows.length<2)continue;
  [...table.tHead.rows[0].cells].forEach((head,column)=>{
    const button=document.createElement("button");
    button.title="Sort by this column";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click",()=>sort(table,column,head))})}
)js";
}

} // namespace detreduce::report
